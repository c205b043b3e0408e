/** The system clock: time of day, monotonic time and sleep. */

import { expect } from 'chai';
import { systemClock } from '../../../core/runtime/time.js';
import { rejection } from '../../support/rejection.js';

describe('system clock', () => {
  it('returns the time of day, and a time that never goes back', async () => {
    expect(systemClock.now()).to.be.closeTo(Date.now(), 1000);
    const start = systemClock.monotonic();
    await systemClock.sleep(10);
    expect(systemClock.monotonic()).to.be.above(start);
  });

  it('sleeps no shorter than asked', async () => {
    const start = systemClock.monotonic();
    await systemClock.sleep(30);
    // Timers count whole milliseconds.
    expect(systemClock.monotonic() - start).to.be.at.least(29);
  });

  it('wakes with the reason of the signal, before or during sleep', async () => {
    const reason = new Error('wake up');
    expect(await rejection(systemClock.sleep(60_000, AbortSignal.abort(reason)))).to.equal(reason);
    const controller = new AbortController();
    const sleeping = rejection(systemClock.sleep(60_000, controller.signal));
    controller.abort(reason);
    expect(await sleeping).to.equal(reason);
  });
});
