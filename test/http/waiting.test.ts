import { expect } from 'chai';
import { createSemaphore } from '../../server/http/request.js';

describe('the waiting room', () => {
  it('has so many places in all and for one holder, and takes them back', () => {
    const room = createSemaphore({ places: 3, placesEach: 2 });
    const leave = room.demand('a');
    room.demand('a');
    expect(room.enter('a')).to.equal(undefined);
    expect(() => room.demand('a'))
      .to.throw()
      .that.includes({ code: 'queue_full', retryAfterSeconds: 5 });
    room.demand('b');
    expect(room.enter('c')).to.equal(undefined);
    leave();
    expect(room.enter('c')).to.be.a('function');
    expect(room.enter('b')).to.equal(undefined);
  });
});
