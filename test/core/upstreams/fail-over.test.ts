/** Fail-over between upstreams: order, retries, weights, cool-downs and rate limits. */

import { expect } from 'chai';
import { GatewayError, systemClock } from 'mediagate';
import { createFailOver, retryAfterSeconds, type TryConsequence, TryFailure } from 'mediagate/plugin';
import { createManualClock } from 'mediagate/testing';
import { neverSent } from '../../../core/net/index.js';
import { readDuration, readQuotas, type UpstreamQuotas } from '../../../core/upstreams/quotas.js';
import { linkSiblings } from '../../support/processes/linked-siblings.js';
import { rejection } from '../../support/rejection.js';

const signal = new AbortController().signal;
const failure = (again: TryConsequence['again'], counts = true, retryAfterSeconds?: number) =>
  new TryFailure(new GatewayError('upstream_error', 'It failed.', { retryAfterSeconds }), { again, counts });

describe('failing over', () => {
  async function asked(upstreams: readonly string[], answers: readonly (TryFailure | Error | 'done')[]) {
    const failOver = createFailOver({ upstreams, clock: systemClock });
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

  it('uses the first upstream that works', async () => {
    expect(await asked(['a', 'b'], [])).to.deep.equal({ order: 'a', end: 'done' });
    expect(await asked(['a', 'b', 'c'], [failure('anywhere'), failure('anywhere')])).to.include({ order: 'a b c' });
  });

  it('tries as often as there are upstreams, and at least three times', async () => {
    const always = Array.from({ length: 9 }, () => failure('anywhere'));
    expect((await asked(['a'], always)).order).to.equal('a a a');
    expect((await asked(['a', 'b', 'c', 'd', 'e'], always)).order).to.equal('a b c d e');
  });

  it('calls no upstream, another or the same one again, depending on the failure', async () => {
    expect((await asked(['a', 'b'], [failure('nowhere')])).order).to.equal('a');
    expect((await asked(['a'], [failure('elsewhere')])).order).to.equal('a');
    expect((await asked(['a', 'b'], [failure('elsewhere')])).order).to.equal('a b');
    expect((await asked(['a', 'b'], [failure('here')])).order).to.equal('a a');
  });

  it('rethrows other errors unchanged', async () => {
    const stray = new Error('stray');
    expect(await asked(['a', 'b'], [stray])).to.deep.equal({ order: 'a', end: stray });
  });

  it('stops waiting at the deadline, and when the caller leaves', async () => {
    const failOver = createFailOver({ upstreams: ['a'], clock: systemClock });
    const work = () => Promise.reject(failure('anywhere', true, 30));
    const error = await rejection(failOver.run({ budgetMs: 20_000, signal, work }));
    expect(error).to.include({ code: 'upstream_error', retryAfterSeconds: 30 });
    const leaving = new AbortController();
    const gone = new Error('the caller left');
    setTimeout(() => leaving.abort(gone), 20);
    expect(await rejection(failOver.run({ budgetMs: 90_000, signal: leaving.signal, work }))).to.equal(gone);
  });

  it('waits between tries at most as long as the call allows', async () => {
    const failOver = createFailOver({ upstreams: ['a'], clock: systemClock });
    const work = () => Promise.reject(failure('anywhere', true, 30));
    const error = await rejection(failOver.run({ budgetMs: 90_000, longestWaitMs: 5_000, signal, work }));
    expect(error).to.include({ code: 'upstream_error', retryAfterSeconds: 30 });
  });

  it('shares the work by weight, evenly spread, and uses the fallback only after failures', async () => {
    const weights: Readonly<Record<string, number>> = { a: 5, b: 1, c: 1, spare: 0 };
    const weightOf = (name: string) => weights[name] ?? 0;
    const failOver = createFailOver({ upstreams: Object.keys(weights), clock: systemClock, weightOf });
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

  it('limits retries if everything fails', async () => {
    const clock = createManualClock();
    const failOver = createFailOver({ upstreams: ['a', 'b', 'c'], clock, retryShare: 0.2 });
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

  it('shares cool-downs, their ends and limits with other workers that have the same upstreams', async () => {
    const clock = createManualClock();
    const workers = linkSiblings(3).map((hints, index) =>
      createFailOver({ upstreams: ['a'], clock, hints, name: index < 2 ? 'chats' : 'another' }),
    );
    const run = async (worker: number, work: () => Promise<unknown>) =>
      workers[worker]?.run({ budgetMs: 60_000, signal, longestWaitMs: 0, work });
    const fail = () => Promise.reject(failure('nowhere'));
    const coolDowns = () => workers.map((failOver) => failOver.states()[0]?.isCoolingDown);
    for (let count = 0; count < 10; count += 1) await rejection(run(0, fail));
    expect(coolDowns()).to.deep.equal([true, true, false]);
    expect(await rejection(run(1, fail))).to.include({ code: 'upstream_unavailable' });
    await clock.advance(10_000);
    await run(1, async () => 'done');
    expect(coolDowns()).to.deep.equal([false, false, false]);
    await rejection(run(0, () => Promise.reject(failure('here', false, 30))));
    expect(coolDowns()).to.deep.equal([true, true, false]);
    await clock.advance(30_000);
    expect(coolDowns()).to.deep.equal([false, false, false]);
  });

  it('cools an upstream down after ten failures in a row, and then tries it with one call', async () => {
    const restMs = 10_000;
    const clock = createManualClock();
    const failOver = createFailOver({ upstreams: ['a'], clock, restMs });
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
    await clock.advance(restMs);
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

  it('counts no result of a probe whose caller leaves', async () => {
    const restMs = 10_000;
    const clock = createManualClock();
    const failOver = createFailOver({ upstreams: ['a'], clock, restMs });
    const resting = () => failOver.states()[0]?.isCoolingDown;
    const call = { budgetMs: 60_000, signal };
    for (let count = 0; count < 10; count++) {
      await rejection(failOver.run({ ...call, work: () => Promise.reject(failure('nowhere')) }));
    }
    const gone = new Error('the caller left');
    // As an upstream's client throws it, and as a client's failure that counts for nothing.
    for (const thrown of [gone, failure('nowhere', false)]) {
      await clock.advance(restMs);
      const leaving = new AbortController();
      const work = async () => {
        leaving.abort(gone);
        throw thrown;
      };
      await rejection(failOver.run({ ...call, signal: leaving.signal, work }));
      expect(resting()).to.equal(true);
    }
    const slow = failOver.run({ ...call, work: () => systemClock.sleep(30).then(() => 'done') });
    const beside = await rejection(failOver.run({ ...call, work: async () => 'done' }));
    expect(beside, 'one call probes').to.include({ code: 'upstream_unavailable' });
    expect(await slow).to.equal('done');
    expect(resting()).to.equal(false);
  });

  it('doubles the cool-down while an upstream keeps failing, up to six times, and resets it after a success', async () => {
    const restMs = 10_000;
    const clock = createManualClock();
    const failOver = createFailOver({ upstreams: ['a'], clock, restMs });
    let isWell = false;
    let calls = 0;
    const run = () =>
      failOver
        .run({
          budgetMs: 60_000,
          signal,
          async work() {
            calls += 1;
            if (!isWell) throw failure('nowhere');
          },
        })
        .catch(() => undefined);
    const failTen = async () => {
      for (let count = 0; count < 10; count++) await run();
    };
    /** Milliseconds, to the second, after which it is asked again. */
    const restOf = async () => {
      const before = calls;
      for (let ms = 0; ms <= 10 * restMs; ms += 1_000) {
        await run();
        if (calls > before) return ms;
        await clock.advance(1_000);
      }
      return Number.POSITIVE_INFINITY;
    };
    await failTen();
    expect([await restOf(), await restOf(), await restOf(), await restOf(), await restOf()]).to.deep.equal([
      10_000, 20_000, 40_000, 60_000, 60_000,
    ]);
    isWell = true;
    await restOf();
    isWell = false;
    await failTen();
    expect(await restOf(), 'after a success').to.equal(10_000);
  });

  it('asks its caller to wait for a minute at most, and tries the upstream for another', async () => {
    for (const [asked, told] of [
      [30, 30],
      [60, 60],
      [61, 60],
      [86_400, 60],
      [251_606_812_563, 60],
      [Number.POSITIVE_INFINITY, 60],
      [-1, 1],
    ] as const) {
      const clock = createManualClock();
      const failOver = createFailOver({ upstreams: ['a'], clock });
      let isWell = false;
      let calls = 0;
      const run = () =>
        failOver.run({
          budgetMs: 600_000,
          longestWaitMs: 0,
          signal,
          async work() {
            calls += 1;
            if (!isWell) throw failure('anywhere', false, asked);
            return 'done';
          },
        });
      expect(await rejection(run()), String(asked)).to.include({ retryAfterSeconds: told });
      if (asked > 0) {
        expect(failOver.states()).to.deep.include({ name: 'upstreams.0', isCoolingDown: true, tries: 1, failures: 1 });
        await clock.advance(1_000);
        expect(await rejection(run()), String(asked)).to.include({ retryAfterSeconds: told });
        expect(calls).to.equal(2);
      }
      isWell = true;
      expect(await run(), String(asked)).to.equal('done');
      expect(failOver.states()).to.deep.include({
        name: 'upstreams.0',
        isCoolingDown: false,
        tries: calls,
        failures: calls - 1,
      });
    }
  });

  describe('a limited upstream', () => {
    const limit = (quotas?: UpstreamQuotas, retryAfterSeconds?: number) =>
      new TryFailure(
        new GatewayError('upstream_rate_limited', 'It limits us.', { retryAfterSeconds }),
        { again: 'anywhere', counts: false },
        quotas,
      );
    const call = { budgetMs: 600_000, longestWaitMs: 0, signal };

    it('gets one trial at a time until one succeeds', async () => {
      const clock = createManualClock();
      const failOver = createFailOver({ upstreams: ['a'], clock });
      const refused = () => Promise.reject(limit());
      await rejection(failOver.run({ ...call, work: refused }));
      const trial = Promise.withResolvers<string>();
      const first = failOver.run({ ...call, work: () => trial.promise });
      expect(await rejection(failOver.run({ ...call, work: refused }))).to.include({
        code: 'upstream_rate_limited',
        message: 'The upstream accepts no further requests at the moment.',
      });
      const patient = failOver.run({ ...call, longestWaitMs: 5_000, work: async () => 'patient' });
      trial.resolve('done');
      expect(await first).to.equal('done');
      await clock.advance(100);
      expect(await patient).to.equal('patient');
      const both = await Promise.all([1, 2].map(() => failOver.run({ ...call, work: async () => 'open' })));
      expect(both).to.deep.equal(['open', 'open']);
    });

    it('gets a further trial after two seconds without an answer', async () => {
      const clock = createManualClock();
      const failOver = createFailOver({ upstreams: ['a'], clock });
      await rejection(failOver.run({ ...call, work: () => Promise.reject(limit()) }));
      const slow = Promise.withResolvers<string>();
      const first = failOver.run({ ...call, work: () => slow.promise });
      await clock.advance(1_999);
      expect(await rejection(failOver.run({ ...call, work: async () => 'early' }))).to.include({
        retryAfterSeconds: 1,
      });
      await clock.advance(1);
      expect(await failOver.run({ ...call, work: async () => 'next' })).to.equal('next');
      slow.resolve('done');
      expect(await first).to.equal('done');
    });

    /** How many of one request each tenth of a second are let through. */
    async function passed(quotas: UpstreamQuotas, seconds: number, tokens = 1): Promise<number> {
      const clock = createManualClock();
      const failOver = createFailOver({ upstreams: ['a'], clock });
      await rejection(failOver.run({ ...call, tokens, work: () => Promise.reject(limit(quotas)) }));
      let count = 0;
      for (let tenths = 0; tenths < seconds * 10; tenths++) {
        await clock.advance(100);
        await failOver.run({ ...call, tokens, work: async () => count++ }).catch(() => undefined);
      }
      return count;
    }

    it('gets requests at the rate that it states', async () => {
      const requests = { remaining: 0, limit: 60, resetMs: 60_000 };
      expect(await passed({ requests }, 30), 'one a second').to.equal(30);
      expect(await passed({ requests: { remaining: 0, resetMs: 5_000 } }, 5), 'one at the reset').to.equal(1);
      expect(await passed({ requests: { remaining: 0, resetMs: 5_000 } }, 6), 'all after the reset').to.equal(11);
      expect(await passed({ requests: { remaining: 0, resetMs: 86_400_000 } }, 120), 'a minute at the most').to.equal(
        2,
      );
      const tokens = { remaining: 0, limit: 6_000, resetMs: 60_000 };
      expect(await passed({ tokens }, 30, 500), 'by its tokens').to.equal(6);
      expect(await passed({ tokens, requests: { ...requests, remaining: 9 } }, 30, 50)).to.equal(60);
      expect(await passed({ requests: { ...requests, remaining: 9 } }, 1), 'what explains nothing').to.equal(10);
    });

    it('is passed over in favour of another one', async () => {
      const clock = createManualClock();
      const failOver = createFailOver({ upstreams: ['a', 'b'], clock });
      const order: string[] = [];
      const run = () =>
        failOver.run({
          ...call,
          async work(upstream) {
            order.push(upstream);
            if (order.length === 1) throw limit(undefined, 30);
          },
        });
      await run();
      await run();
      await clock.advance(30_000);
      await run();
      expect(order.join('')).to.equal('abba');
    });

    it('states its quotas in headers', () => {
      const headers = {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-tokens': '149984',
        'x-ratelimit-reset-tokens': '6m0s',
      };
      expect(readQuotas(headers, 0)).to.deep.equal({
        requests: { remaining: 0, resetMs: 1_000, limit: 60 },
        tokens: { remaining: 149_984, resetMs: 360_000 },
      });
      expect(readQuotas({ 'x-ratelimit-remaining-requests': '9999' }, 0)).to.equal(undefined);
      const anthropic = {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': '2026-11-26T06:00:12Z',
        'anthropic-ratelimit-tokens-remaining': '1000',
        'anthropic-ratelimit-tokens-reset': 'soon',
      };
      expect(readQuotas(anthropic, Date.UTC(2026, 10, 26, 6))).to.deep.equal({
        requests: { remaining: 0, resetMs: 12_000, limit: 50 },
      });
      for (const [text, ms] of [
        ['1s', 1_000],
        ['6m0s', 360_000],
        ['120ms', 120],
        ['1h30m', 5_400_000],
        ['2m59.56s', 179_560],
        ['7.66', 7_660],
        ['30', 30_000],
        ['', undefined],
        ['soon', undefined],
        ['-1', undefined],
      ] as const) {
        expect(readDuration(text), text).to.equal(ms);
      }
    });
  });

  it('forwards the wait of a rate-limited vendor, 7 days at most', async () => {
    for (const [asked, told] of [
      [61, 61],
      [86_400, 86_400],
      [251_606_812_563, 604_800],
    ] as const) {
      const failOver = createFailOver({ upstreams: ['a'], clock: createManualClock() });
      const error = new GatewayError('upstream_rate_limited', 'Later.', { retryAfterSeconds: asked });
      const work = async () => {
        throw new TryFailure(error, { again: 'anywhere', counts: false });
      };
      const refused = await rejection(failOver.run({ budgetMs: 600_000, longestWaitMs: 0, signal, work }));
      expect(refused, String(asked)).to.include({ retryAfterSeconds: told });
    }
  });

  it('waits within a call for as long as the upstream asks', async () => {
    const clock = createManualClock();
    const failOver = createFailOver({ upstreams: ['a'], clock });
    let calls = 0;
    const work = async () => {
      calls += 1;
      throw failure('anywhere', false, 3_600);
    };
    expect(await rejection(failOver.run({ budgetMs: 600_000, signal, work }))).to.include({ retryAfterSeconds: 60 });
    expect(calls).to.equal(1);
  });

  it('reports the wait that an upstream asks for', () => {
    const now = Date.parse('2026-06-15T12:00:00Z');
    const asked = (headers: Record<string, string>) => retryAfterSeconds({ headers }, now);
    expect(asked({})).to.equal(undefined);
    expect(asked({ 'retry-after': '7' })).to.equal(7);
    expect(asked({ 'retry-after': ' 7 ' })).to.equal(7);
    expect(asked({ 'retry-after': '0' })).to.equal(0);
    expect(asked({ 'retry-after': 'Mon, 15 Jun 2026 12:00:30 GMT' })).to.equal(30);
    expect(asked({ 'retry-after': 'Mon, 15 Jun 2026 11:00:00 GMT' })).to.equal(0);
    expect(asked({ 'retry-after': 'soon' })).to.equal(undefined);
    expect(asked({ 'retry-after': 'NaN' })).to.equal(undefined);
    expect(asked({ 'retry-after': '' })).to.equal(undefined);
    expect(asked({ 'retry-after': '-5' }) ?? 0).to.equal(0);
    expect(asked({ 'retry-after': '251606812563' })).to.equal(251_606_812_563);
    expect(asked({ 'retry-after': '9'.repeat(400) })).to.equal(undefined);
    expect(asked({ 'retry-after-ms': '1500', 'retry-after': '9' })).to.equal(1.5);
    expect(asked({ 'retry-after-ms': 'x', 'retry-after': '9' })).to.equal(9);
  });

  it('distinguishes requests that were never sent', () => {
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
