/** Deadlines of asynchronous work that ends late, never or on abort. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { endsWithin, GatewayError, withDeadline } from '../../../core/runtime/index.js';
import { createManualClock } from '../../../core/testing/index.js';

const TIMEOUT_MS = 200;
const late = () => new GatewayError('upstream_timeout', 'Too late.');

describe('deadline', () => {
  it('delivers a result that arrived before the deadline while the process was blocked', async () => {
    const child = fork('--eval', ["process.once('message', () => process.send('answer'))"], { execArgv: [] });
    await once(child, 'spawn');
    const answer = once(child, 'message').then(([message]) => message);
    const answered = withDeadline(TIMEOUT_MS, () => answer, { error: late });
    child.send('question');
    // The question goes out, and then nothing is read until the answer has long been there.
    await new Promise((resolve) => setImmediate(resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    expect(await answered).to.equal('answer');
  });

  it("rejects with the deadline's error if the work ignores its signal, and aborts it", async () => {
    let given: AbortSignal | undefined;
    const work = (signal: AbortSignal) => {
      given = signal;
      return new Promise(() => undefined);
    };
    const error = await withDeadline(1, work, { error: late }).catch((thrown: unknown) => thrown);
    expect(error).to.have.property('code', 'upstream_timeout');
    expect(given?.reason).to.equal(error);
  });

  it('returns the result of work that ends at once when its signal aborts', async () => {
    const work = (signal: AbortSignal) =>
      new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('what it had')));
    expect(await withDeadline(1, work, { error: late })).to.equal('what it had');
  });

  it('ends with the reason of a signal that aborts, and aborts nothing when the work has ended', async () => {
    const reason = new Error('The caller left.');
    const caller = new AbortController();
    const ended = withDeadline(60_000, () => new Promise(() => undefined), { signals: [caller.signal], error: late });
    caller.abort(reason);
    expect(await ended.catch((thrown: unknown) => thrown)).to.equal(reason);
    let given: AbortSignal | undefined;
    await withDeadline(
      5,
      async (signal) => {
        given = signal;
      },
      { error: late },
    );
    await sleep(20);
    expect(given?.aborted).to.equal(false);
  });

  it('uses the given clock', async () => {
    const clock = createManualClock();
    const ended = endsWithin(60_000, () => new Promise(() => undefined), { clock });
    await clock.advance(60_000);
    expect(await ended).to.equal(false);
    expect(await endsWithin(60_000, async () => undefined, { clock })).to.equal(true);
    expect(clock.sleepers).to.equal(0);
  });
});
