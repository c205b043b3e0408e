/** The semaphore of waiting requests, in total and for each holder. */

import { expect } from 'chai';
import { Semaphore } from '../../../server/http/request.js';

describe('semaphore of waiting requests', () => {
  it('has a limit in total and for each holder, and frees places', () => {
    const room = new Semaphore({ permits: 3, permitsEach: 2 });
    const leave = room.acquire('a');
    room.acquire('a');
    expect(room.tryAcquire('a')).to.equal(undefined);
    expect(() => room.acquire('a'))
      .to.throw()
      .that.includes({ code: 'queue_full', retryAfterSeconds: 5 });
    room.acquire('b');
    expect(room.tryAcquire('c')).to.equal(undefined);
    leave();
    expect(room.tryAcquire('c')).to.be.a('function');
    expect(room.tryAcquire('b')).to.equal(undefined);
  });
});
