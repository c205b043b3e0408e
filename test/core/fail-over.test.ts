import { mock } from 'node:test';
import { expect } from 'chai';
import { createFailOver, GatewayError, neverSent, systemClock, type TryConsequence, TryFailure } from 'mediagate';
import { createManualClock } from 'mediagate/testing';
import { rejection } from '../support/rejection.js';

const signal = new AbortController().signal;
const failure = (again: TryConsequence['again'], counts = true, retryAfterSeconds?: number) =>
  new TryFailure(new GatewayError('upstream_error', 'It failed.', { retryAfterSeconds }), { again, counts });

describe('failing over', () => {
  afterEach(() => mock.timers.reset());

  async function asked(upstreams: readonly string[], answers: readonly (TryFailure | Error | 'done')[]) {
    const failOver = await createFailOver({ upstreams, clock: systemClock });
    const order: string[] = [];
    const end = await failOver
      .run({
        budgetMs: 60_000,
        signal,
        async work(upstream) {
          const answer = answers[order.length] ?? 'done';
          order.push(upstream);
          if (answer !== 'done') throw answer;
          return 'done';
        },
      })
      .catch((error: unknown) => error);
    return { order: order.join(' '), end };
  }

  it('takes the first upstream that does the work', async () => {
    expect(await asked(['a', 'b'], [])).to.deep.equal({ order: 'a', end: 'done' });
    expect(await asked(['a', 'b', 'c'], [failure('anywhere'), failure('anywhere')])).to.include({ order: 'a b c' });
  });

  it('tries as often as there are upstreams, and no less than three times', async () => {
    const always = Array.from({ length: 9 }, () => failure('anywhere'));
    expect((await asked(['a'], always)).order).to.equal('a a a');
    expect((await asked(['a', 'b', 'c', 'd', 'e'], always)).order).to.equal('a b c d e');
  });

  it('asks nobody, somebody else, or the same one again, as the failure says', async () => {
    expect((await asked(['a', 'b'], [failure('nowhere')])).order).to.equal('a');
    expect((await asked(['a'], [failure('elsewhere')])).order).to.equal('a');
    expect((await asked(['a', 'b'], [failure('elsewhere')])).order).to.equal('a b');
    expect((await asked(['a', 'b'], [failure('here')])).order).to.equal('a a');
  });

  it('ends with what else is thrown, as it is', async () => {
    const stray = new Error('stray');
    expect(await asked(['a', 'b'], [stray])).to.deep.equal({ order: 'a', end: stray });
  });

  it('does not wait past the time there is, nor for a caller who leaves', async () => {
    const failOver = await createFailOver({ upstreams: ['a'], clock: systemClock });
    const work = () => Promise.reject(failure('anywhere', true, 30));
    const error = await rejection(failOver.run({ budgetMs: 20_000, signal, work }));
    expect(error).to.include({ code: 'upstream_error', retryAfterSeconds: 30 });
    // It still asks to be left alone, now of everybody.
    expect(await rejection(failOver.run({ budgetMs: 20_000, signal, work }))).to.include({
      code: 'upstream_rate_limited',
      retryAfterSeconds: 30,
    });
    const leaving = new AbortController();
    const gone = new Error('the caller left');
    setTimeout(() => leaving.abort(gone), 20);
    expect(await rejection(failOver.run({ budgetMs: 90_000, signal: leaving.signal, work }))).to.equal(gone);
  });

  it('waits between tries no longer than the call allows', async () => {
    const failOver = await createFailOver({ upstreams: ['a'], clock: systemClock });
    const work = () => Promise.reject(failure('anywhere', true, 30));
    const error = await rejection(failOver.run({ budgetMs: 90_000, longestWaitMs: 5_000, signal, work }));
    expect(error).to.include({ code: 'upstream_error', retryAfterSeconds: 30 });
    // Nobody is asked while it wants to be left alone.
    const next = await rejection(failOver.run({ budgetMs: 90_000, longestWaitMs: 5_000, signal, work }));
    expect(next).to.include({ code: 'upstream_rate_limited', retryAfterSeconds: 30 });
  });

  it('shares the work by weight, evenly spread, and leaves nothing to one that only steps in', async () => {
    const weights: Readonly<Record<string, number>> = { a: 5, b: 1, c: 1, spare: 0 };
    const weightOf = (name: string) => weights[name] ?? 0;
    const failOver = await createFailOver({ upstreams: Object.keys(weights), clock: systemClock, weightOf });
    const call = { budgetMs: 60_000, signal };
    const order: string[] = [];
    for (let count = 0; count < 14; count++) order.push(await failOver.run({ ...call, work: async (name) => name }));
    expect(order.join('')).to.equal('aabacaaaabacaa');
    const failing = await failOver.run({
      ...call,
      async work(name) {
        if (name !== 'spare') throw failure('elsewhere');
        return name;
      },
    });
    expect(failing).to.equal('spare');
    const suits = (name: string) => name === 'b' || name === 'c';
    const some: string[] = [];
    for (let count = 0; count < 4; count++)
      some.push(await failOver.run({ ...call, suits, work: async (name) => name }));
    expect(some.sort().join('')).to.equal('bbcc');
  });

  it('makes no storm of retries where everything fails', async () => {
    const clock = createManualClock();
    const failOver = await createFailOver({ upstreams: ['a', 'b', 'c'], clock, retryShare: 0.2 });
    let tries = 0;
    let calls = 0;
    const work = async () => {
      tries++;
      throw failure('anywhere', false);
    };
    const burst = async (count: number) => {
      const before = { tries, calls };
      for (; calls < before.calls + count; calls++) {
        await rejection(failOver.run({ budgetMs: 60_000, longestWaitMs: 0, signal, work }));
      }
      return tries - before.tries - count;
    };
    expect(await burst(100)).to.equal(10 + 20 - 1);
    await clock.advance(5_000);
    expect(await burst(1)).to.equal(2);
    expect(await burst(1), 'what a second brings').to.equal(2);
    await clock.advance(3_600_000);
    expect(await burst(100), 'nothing is saved up beyond ten').to.be.within(28, 30);
  });

  it('lets an upstream rest that fails ten times in a row, and lets one call try it afterwards', async () => {
    const restMs = 10_000;
    const failOver = await createFailOver({ upstreams: ['a'], clock: systemClock, restMs });
    // What rests goes by it.
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    let calls = 0;
    const run = (work: () => Promise<string>) =>
      failOver
        .run({
          budgetMs: 60_000,
          signal,
          work() {
            calls++;
            return work();
          },
        })
        .catch((error: GatewayError) => error.code);
    for (let count = 0; count < 9; count++) await run(() => Promise.reject(failure('nowhere')));
    await run(() => Promise.reject(failure('nowhere', false)));
    await run(async () => 'done');
    for (let count = 0; count < 10; count++) await run(() => Promise.reject(failure('nowhere')));
    expect(calls, 'success starts the count anew').to.equal(21);
    expect(await run(async () => 'done')).to.equal('upstream_unavailable');
    mock.timers.tick(restMs);
    const answers = await Promise.all([
      run(async () => {
        await systemClock.sleep(30);
        return 'done';
      }),
      run(async () => 'done'),
    ]);
    expect(answers).to.deep.equal(['done', 'upstream_unavailable']);
    expect(await run(async () => 'done')).to.equal('done');
  });

  it('knows which requests were never sent', () => {
    const coded = (code: string, more: object = {}) =>
      new GatewayError('upstream_error', 'x', { cause: Object.assign(new Error('x'), { code }, more) });
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED']) {
      expect(neverSent(coded(code)), code).to.equal(true);
    }
    expect(neverSent(coded('ETIMEDOUT', { syscall: 'connect' }))).to.equal(true);
    for (const error of [
      coded('ECONNRESET'),
      coded('UND_ERR_SOCKET'),
      coded('ETIMEDOUT'),
      new GatewayError('upstream_timeout', 'x'),
    ]) {
      expect(neverSent(error)).to.equal(false);
    }
  });
});
