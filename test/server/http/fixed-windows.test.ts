/** Fixed windows in memory, alone and over several workers. */

import { expect } from 'chai';
import { createManualClock } from 'mediagate/testing';
import { AddressLimit, FixedWindow, PollGuard } from '../../../server/http/index.js';
import { linkSiblings } from '../../support/processes/linked-siblings.js';

describe('fixed windows', () => {
  it('end a minute after their first event', async () => {
    const clock = createManualClock();
    const window = new FixedWindow({ clock, max: 2, name: 'events' });
    window.add('ann');
    await clock.advance(20_000);
    window.add('ann');
    expect(window.blockedFor('ann')).to.equal(40);
    expect(window.blockedFor('ben')).to.equal(undefined);
    await clock.advance(40_000);
    expect(window.blockedFor('ann')).to.equal(undefined);
  });

  it('evict the oldest of 10,000 names', () => {
    const window = new FixedWindow({ clock: createManualClock(), max: 1, name: 'events' });
    for (let index = 0; index <= 10_000; index += 1) window.add(String(index));
    expect(window.blockedFor('0')).to.equal(undefined);
    expect(window.blockedFor('1')).to.equal(60);
  });

  it('count together with the siblings that have the same window, and with no other', () => {
    const [one, other] = linkSiblings(2);
    const clock = createManualClock();
    const limit = { clock, perMinute: 3, what: 'Too many sign-ins' };
    const here = new AddressLimit({ ...limit, siblings: one, name: 'sign-ins' });
    const there = new AddressLimit({ ...limit, siblings: other, name: 'sign-ins' });
    const returns = new AddressLimit({ ...limit, siblings: other, name: 'returns' });
    here.admit('192.0.2.1');
    there.admit('192.0.2.1');
    here.admit('192.0.2.1');
    expect(() => there.admit('192.0.2.1')).to.throw('Too many sign-ins from this address.');
    expect(() => here.admit('192.0.2.1')).to.throw('Too many sign-ins from this address.');
    there.admit('192.0.2.2');
    returns.admit('192.0.2.1');
  });
});

describe('polls of a key', () => {
  it('are limited to 20 in a second over all workers', async () => {
    const [one, other] = linkSiblings(2);
    const clock = createManualClock();
    const guards = [new PollGuard({ clock, siblings: one }), new PollGuard({ clock, siblings: other })];
    for (let count = 0; count < 10; count += 1) for (const guard of guards) guard.admit('key');
    for (const guard of guards) expect(() => guard.admit('key')).to.throw('may poll 20 times in a second');
    for (const guard of guards) guard.admit('another');
    await clock.advance(1_000);
    for (const guard of guards) guard.admit('key');
  });
});
