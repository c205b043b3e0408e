/** The fallback chain: order of methods, outcomes, deadlines and cool-downs. */

import { expect } from 'chai';
import { type ChainResult, FallbackChain, type FallbackChainOptions } from '../../../core/extraction/fallback-chain.js';
import { type Method, type Outcome } from '../../../core/extraction/method-run.js';
import { GatewayError, isGatewayError } from '../../../core/runtime/errors.js';
import { createManualClock, createRecordingLogger } from '../../../core/testing/index.js';
import { linkSiblings } from '../../support/processes/linked-siblings.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';

interface Facts {
  title?: string;
  views?: number;
}
type Result = Outcome<Facts>;

const never = new AbortController().signal;
const full: Result = { kind: 'found', found: { title: 'T', views: 1 } };
const titled: Result = { kind: 'found', found: { title: 'T' } };
const scrap: Result = { kind: 'found', found: { views: 1 } };
const failing = (code: Extract<Result, { kind: 'transient' }>['code'], retryAfterSeconds?: number): Result => ({
  kind: 'transient',
  code,
  retryAfterSeconds,
});
const no = (code: Extract<Result, { kind: 'definitive' }>['code'], found?: Facts): Result => ({
  kind: 'definitive',
  code,
  reason: 'so they say',
  found,
});

type Answer = Result | Error | (() => Result | Promise<Result>) | ((signal: AbortSignal) => Promise<Result>);

function method(
  name: string,
  answer: Answer,
  more: Partial<Method<Facts, string>> = {},
): Method<Facts, string> & { runs: number } {
  const made = {
    name,
    cost: 1,
    definitive: true,
    runs: 0,
    ...more,
    async run(_call: string, signal: AbortSignal): Promise<Result> {
      made.runs += 1;
      if (answer instanceof Error) throw answer;
      return typeof answer === 'function' ? answer(signal) : answer;
    },
  };
  return made;
}

function chainOf(methods: readonly Method<Facts, string>[], more: Partial<FallbackChainOptions<Facts, string>> = {}) {
  const clock = createManualClock();
  const logger = createRecordingLogger();
  const chain = new FallbackChain<Facts, string>({
    methods,
    clock,
    logger,
    platform: 'invented',
    isEnough: (parts) => parts.some(({ found }) => found.title && found.views),
    isWorthwhile: (parts) => parts.some(({ found }) => found.title),
    random: () => 1,
    ...more,
  });
  return {
    clock,
    logger,
    climb: (signal = never, only?: string) => chain.run('call', signal, only),
    states: () => chain.methods(),
  };
}

async function failureOf(climb: Promise<ChainResult<Facts>>): Promise<GatewayError> {
  try {
    await climb;
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
  throw new Error('the climb did not fail');
}

const outcomes = (of: { attempts?: readonly { method: string; outcome: string }[] }) =>
  of.attempts?.map((attempt) => `${attempt.method} ${attempt.outcome}`);

describe('fallback chain', () => {
  describe('order', () => {
    it('stops at the first method with a sufficient result', async () => {
      const second = method('second', full);
      const climb = await chainOf([method('first', full), second]).climb();
      expect(climb).to.deep.include({
        parts: [{ method: 'first', found: { title: 'T', views: 1 } }],
        partial: false,
      });
      expect(outcomes(climb)).to.deep.equal(['first ok']);
      expect(second.runs).to.equal(0);
    });

    it('runs methods until the document is complete, in the order of the list', async () => {
      let release = (): void => {};
      const slow = new Promise<void>((resolve) => {
        release = resolve;
      });
      const one = method('one', () => slow.then(() => titled), { group: 'pair' });
      const two = method(
        'two',
        () => {
          release();
          return { kind: 'found', found: { views: 2 }, limitations: ['rough'] } as const;
        },
        { group: 'pair' },
      );
      const { climb } = chainOf([one, two], {
        isEnough: (parts) => parts.length === 2,
      });
      const climbed = await climb();
      expect(climbed.parts.map((part) => part.method)).to.deep.equal(['one', 'two']);
      expect(climbed.limitations).to.deep.equal(['rough']);
    });

    it('tries methods of different groups one after the other', async () => {
      const order: string[] = [];
      const noted = (name: string, group: string) =>
        method(
          name,
          async () => {
            order.push(`${name} starts`);
            await Promise.resolve();
            order.push(`${name} ends`);
            return failing('upstream_error');
          },
          { group },
        );
      await failureOf(chainOf([noted('a', 'x'), noted('b', 'y')]).climb());
      expect(order).to.deep.equal(['a starts', 'a ends', 'b starts', 'b ends']);
    });

    it('skips unusable methods and methods that cost too much', async () => {
      const unusable = method('unusable', full, { usable: () => false });
      const dear = method('dear', full, { cost: 10 });
      const cheap = method('cheap', titled);
      const climb = await chainOf([unusable, dear, cheap], { maxCost: 5 }).climb();
      expect(outcomes(climb)).to.deep.equal(['unusable skipped', 'dear skipped', 'cheap ok']);
      expect([unusable.runs, dear.runs]).to.deep.equal([0, 0]);
      expect(climb.partial).to.equal(false);
    });

    it('reports that no method is usable', async () => {
      const error = await failureOf(chainOf([method('only', full, { usable: () => false })]).climb());
      expect(error.code).to.equal('plugin_unavailable');
    });
  });

  describe('outcomes', () => {
    it('ends at a definitive refusal', async () => {
      const next = method('next', full);
      const error = await failureOf(chainOf([method('first', no('geo_blocked')), next]).climb());
      expect(error).to.include({ code: 'geo_blocked', reason: 'so they say', platform: 'invented', retryable: false });
      expect(outcomes(error)).to.deep.equal(['first geo_blocked']);
      expect(next.runs).to.equal(0);
    });

    it('answers with data and the restriction if the same group had data', async () => {
      const methods = [
        method('player', no('age_restricted'), { group: 'pair' }),
        method('next', titled, { group: 'pair' }),
        method('page', full),
      ];
      const climb = await chainOf(methods).climb();
      expect(climb.restriction).to.deep.equal({ code: 'age_restricted', reason: 'so they say' });
      expect(climb.parts.map((part) => part.method)).to.deep.equal(['next']);
    });

    it('hides what a definitive method calls private or removed', async () => {
      for (const code of ['private', 'removed'] as const) {
        const methods = [
          method('one', full, { group: 'pair' }),
          method('two', no(code, { title: 'T' }), { group: 'pair' }),
        ];
        expect((await failureOf(chainOf(methods).climb())).code).to.equal(code);
      }
    });

    it('counts the data of a method that refuses', async () => {
      const climb = await chainOf([method('only', no('members_only', { title: 'T' }))]).climb();
      expect(climb.parts).to.deep.equal([{ method: 'only', found: { title: 'T' } }]);
      expect(climb.restriction?.code).to.equal('members_only');
    });

    it('keeps data of one method despite the refusal of another', async () => {
      const climb = await chainOf([method('vote', no('removed'), { definitive: false }), method('page', full)]).climb();
      expect(climb).to.not.have.property('verdict');
      expect(climb.partial).to.equal(false);
    });

    it('never reports "removed" on one vote if a definitive method failed', async () => {
      const methods = [method('page', failing('bot_check')), method('vote', no('removed'), { definitive: false })];
      expect((await failureOf(chainOf(methods).climb())).code).to.equal('bot_check');
    });

    it('reports "removed" on one vote if no definitive method failed', async () => {
      const methods = [
        method('a', failing('upstream_error'), { definitive: false }),
        method('b', no('removed'), { definitive: false }),
      ];
      expect((await failureOf(chainOf(methods).climb())).code).to.equal('removed');
    });

    it('reports what two methods agree on', async () => {
      const vote = (name: string) => method(name, no('removed'), { definitive: false });
      const methods = [method('page', failing('bot_check')), vote('a'), vote('b')];
      expect((await failureOf(chainOf(methods).climb())).code).to.equal('removed');
    });

    it('returns the most informative failure', async () => {
      const order = [
        'upstream_timeout',
        'upstream_error',
        'upstream_refused',
        'upstream_changed',
        'upstream_rate_limited',
        'bot_check',
      ] as const;
      for (let upTo = 1; upTo <= order.length; upTo += 1) {
        const methods = order.slice(0, upTo).map((code) => method(code, failing(code)));
        expect((await failureOf(chainOf(methods).climb())).code).to.equal(order[upTo - 1]);
      }
    });

    it('is partial if a failing method left something out', async () => {
      const climb = await chainOf([method('first', failing('upstream_error')), method('second', titled)]).climb();
      expect(climb.partial).to.equal(true);
      expect(outcomes(climb)).to.deep.equal(['first upstream_error', 'second ok']);
    });

    it('reports insufficient data as a change of the platform', async () => {
      expect((await failureOf(chainOf([method('only', scrap)]).climb())).code).to.equal('upstream_changed');
    });
  });

  describe('throwing methods', () => {
    it('reports the code of a GatewayError', async () => {
      const private_ = new GatewayError('private', 'no', { reason: 'theirs' });
      expect(await failureOf(chainOf([method('only', private_)]).climb())).to.include({
        code: 'private',
        reason: 'theirs',
      });
      const refused = new GatewayError('upstream_refused', 'no');
      const error = await failureOf(chainOf([method('only', refused)]).climb());
      expect(error.code).to.equal('upstream_refused');
      expect(error.cause).to.equal(refused);
    });

    it('does not report a busy service of the gateway as a change of the platform', async () => {
      const busy = new GatewayError('queue_full', 'Too many visits wait.', { retryAfterSeconds: 9 });
      expect(await failureOf(chainOf([method('only', busy)]).climb())).to.include({
        code: 'upstream_error',
        reason: 'Too many visits wait.',
        retryAfterSeconds: 9,
        cause: busy,
      });
    });

    it('names the package that a method lacks, on every call', async () => {
      const missing = await import(`not-${'installed'}`).catch((error: Error) => error);
      const { climb } = chainOf([method('browser', missing), method('only', failing('upstream_error'))]);
      for (let runs = 0; runs < 7; runs += 1) {
        const error = await failureOf(climb());
        expect(error).to.include({ code: 'plugin_unavailable', cause: missing });
        expect(error.message).to.include('"not-installed"');
        expect(error.attempts?.[0]).to.deep.include({ method: 'browser', outcome: 'upstream_error' });
      }
      const other = chainOf([method('browser', missing), method('only', failing('upstream_rate_limited'))]);
      expect(await failureOf(other.climb())).to.include({ code: 'upstream_rate_limited' });
      expect((await chainOf([method('browser', missing), method('only', full)]).climb()).parts).to.have.length(1);
    });

    it('logs anything else as a change of the platform and keeps the cause', async () => {
      const broken = new TypeError('x is not a function');
      const { climb, logger } = chainOf([method('only', broken)]);
      const error = await failureOf(climb());
      expect(error).to.include({ code: 'upstream_changed', cause: broken });
      expect(error.message).to.not.include('function');
      expect(logger.lines).to.deep.include({
        level: 'warn',
        message: 'the answer of a method could not be read',
        fields: { platform: 'invented', extractionMethod: 'only', code: 'upstream_changed', ms: 0, error: broken },
      });
    });
  });

  describe('time', () => {
    const deaf = () => new Promise<Result>(() => {});

    it('abandons a method that ignores its signal', async () => {
      const { climb, clock } = chainOf([method('deaf', deaf), method('second', full)], { methodMs: 1000 });
      const climbed = climb();
      await clock.advance(1000);
      expect(outcomes(await climbed)).to.deep.equal(['deaf upstream_timeout', 'second ok']);
    });

    it('logs a method that continues after its deadline, and none that ends on abort', async () => {
      const methods = [method('deaf', deaf), method('obedient', untilAborted), method('last', full)];
      const { climb, clock, logger } = chainOf(methods, { methodMs: 1000 });
      const climbed = climb();
      await clock.advance(1000);
      await clock.advance(1000);
      await climbed;
      const ignored = () => logger.lines.filter(({ message }) => message.includes('ignores its abort signal'));
      expect(ignored()).to.deep.equal([]);
      await until(() => ignored().length > 0);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(ignored().map(({ level, fields }) => [level, fields])).to.deep.equal([
        ['warn', { platform: 'invented', extractionMethod: 'deaf' }],
      ]);
    });

    it('ends within its budget', async () => {
      const methods = ['a', 'b', 'c', 'd'].map((name) => method(name, deaf));
      const { climb, clock } = chainOf(methods, { methodMs: 1000, budgetMs: 2500 });
      const failed = failureOf(climb());
      await clock.advance(2500);
      const error = await failed;
      expect(error.code).to.equal('upstream_timeout');
      expect(error.attempts?.map(({ method: name, outcome, ms }) => [name, outcome, ms])).to.deep.equal([
        ['a', 'upstream_timeout', 1000],
        ['b', 'upstream_timeout', 1000],
        ['c', 'upstream_timeout', 500],
        ['d', 'skipped', 0],
      ]);
    });

    it('rejects at once with the reason of a leaving caller, and aborts the method', async () => {
      let told: unknown;
      const listening = method('listening', (signal: AbortSignal) => {
        signal.addEventListener('abort', () => {
          told = signal.reason;
        });
        return deaf();
      });
      const second = method('second', full);
      const caller = new AbortController();
      const climbed = chainOf([listening, second]).climb(caller.signal);
      await Promise.resolve();
      const reason = new Error('left');
      caller.abort(reason);
      const caught = await climbed.catch((error: unknown) => error);
      expect(caught).to.equal(reason);
      expect(told).to.equal(reason);
      expect(second.runs).to.equal(0);
    });

    it('does not begin for a caller who has left', async () => {
      const only = method('only', full);
      const caught = await chainOf([only])
        .climb(AbortSignal.abort('gone'))
        .catch((error: unknown) => error);
      expect(caught).to.equal('gone');
      expect(only.runs).to.equal(0);
    });

    it("returns what it has at the caller's deadline, with the methods it asked", async () => {
      const late = () => AbortSignal.abort(new GatewayError('upstream_timeout', 'No answer within 1 s.')).reason;
      const had = new AbortController();
      const climbed = chainOf([method('first', titled), method('deaf', deaf), method('third', full)]).climb(had.signal);
      await new Promise(setImmediate);
      had.abort(late());
      const climb = await climbed;
      expect(climb).to.deep.include({ partial: true, parts: [{ method: 'first', found: { title: 'T' } }] });
      expect(outcomes(climb)).to.deep.equal(['first ok', 'deaf upstream_timeout', 'third skipped']);

      const had2 = new AbortController();
      const failed = failureOf(chainOf([method('deaf', deaf), method('second', full)]).climb(had2.signal));
      await new Promise(setImmediate);
      had2.abort(late());
      const error = await failed;
      expect(error.code).to.equal('upstream_timeout');
      expect(outcomes(error)).to.deep.equal(['deaf upstream_timeout', 'second skipped']);
    });

    it('leaves no timer behind', async () => {
      const { climb, clock } = chainOf([method('only', full)]);
      await climb();
      expect(clock.sleepers).to.equal(0);
    });
  });

  describe('cool-down', () => {
    it('cools a rate-limited method down for as long as the platform asks, and answers at once meanwhile', async () => {
      const limited = method('limited', failing('upstream_rate_limited', 40));
      const { climb, clock } = chainOf([limited]);
      expect(await failureOf(climb())).to.include({ code: 'upstream_rate_limited', retryAfterSeconds: 40 });
      await clock.advance(30_000);
      const error = await failureOf(climb());
      expect(error).to.include({ code: 'upstream_rate_limited', retryAfterSeconds: 10 });
      expect(outcomes(error)).to.deep.equal(['limited resting']);
      expect(limited.runs).to.equal(1);
      await clock.advance(10_000);
      await failureOf(climb());
      expect(limited.runs).to.equal(2);
    });

    it('is shared with other workers, and its end, too', async () => {
      const [here, there] = linkSiblings(2);
      const clock = createManualClock();
      let answer: Result = failing('upstream_rate_limited', 30);
      const methods = [method('a', () => answer)];
      const one = chainOf(methods, { clock, hints: here });
      const other = chainOf(methods, { clock, hints: there });
      await failureOf(one.climb());
      const coolDown = { code: 'upstream_rate_limited', seconds: 30 };
      expect(other.states()).to.deep.equal([{ name: 'a', available: true, coolDown }]);
      await clock.advance(30_000);
      answer = full;
      await other.climb();
      for (const chain of [one, other]) expect(chain.states()).to.deep.equal([{ name: 'a', available: true }]);
    });

    it('cools a rate-limited method down for a minute at most', async () => {
      for (const asked of [61, 86_400, 251_606_812_563]) {
        const thrown = new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: asked });
        for (const answer of [failing('upstream_rate_limited', asked), thrown]) {
          const limited = method('limited', answer);
          const { climb, clock } = chainOf([limited]);
          expect(await failureOf(climb())).to.include({ code: 'upstream_rate_limited', retryAfterSeconds: 60 });
          await clock.advance(59_000);
          expect(await failureOf(climb())).to.include({ retryAfterSeconds: 1 });
          expect(limited.runs).to.equal(1);
          await clock.advance(1_000);
          await failureOf(climb());
          expect(limited.runs).to.equal(2);
        }
      }
    });

    it('doubles the cool-down of a method that stays limited, up to ten minutes', async () => {
      const { climb, clock } = chainOf([method('limited', failing('upstream_rate_limited'))]);
      const waits: (number | undefined)[] = [];
      for (let round = 0; round < 8; round += 1) {
        const { retryAfterSeconds } = await failureOf(climb());
        waits.push(retryAfterSeconds);
        await clock.advance((retryAfterSeconds ?? 0) * 1000);
      }
      expect(waits).to.deep.equal([10, 20, 40, 80, 160, 320, 600, 600]);
    });

    it('continues without a method in cool-down', async () => {
      const limited = method('limited', failing('upstream_rate_limited', 60));
      const { climb } = chainOf([limited, method('second', titled)]);
      await climb();
      const climbed = await climb();
      expect(outcomes(climbed)).to.deep.equal(['limited resting', 'second ok']);
      expect(climbed.partial).to.equal(true);
    });

    it('cools a method down after five unreadable answers, and probes it if no other helps', async () => {
      const refusing = method('refusing', failing('bot_check'));
      const { climb } = chainOf([refusing, method('second', titled)]);
      for (let round = 0; round < 5; round += 1) await climb();
      expect(refusing.runs).to.equal(5);
      expect(outcomes(await climb())).to.deep.equal(['refusing resting', 'second ok']);

      const alone = method('alone', failing('bot_check'));
      const lonely = chainOf([alone]);
      for (let round = 0; round < 6; round += 1) await failureOf(lonely.climb());
      expect(alone.runs).to.equal(6);
    });

    it('probes with one call at a time; the others are answered at once', async () => {
      let answer = (_outcome: Result): void => {};
      let waits = false;
      const only = method('only', () =>
        waits
          ? new Promise<Result>((resolve) => {
              answer = resolve;
            })
          : failing('upstream_refused'),
      );
      const { climb, clock } = chainOf([only]);
      for (let round = 0; round < 5; round += 1) await failureOf(climb());
      waits = true;
      const probe = climb();
      await clock.advance(0);
      const other = await failureOf(climb());
      expect(other).to.include({ code: 'upstream_refused', retryAfterSeconds: 30 });
      expect(only.runs).to.equal(6);
      answer(full);
      expect((await probe).parts).to.have.length(1);
      waits = false;
      await failureOf(climb());
      expect(only.runs).to.equal(7);
    });

    it('forgets failures after a useful answer', async () => {
      const replies: Result[] = [...Array(4).fill(failing('upstream_changed')), full];
      const moody = method('moody', () => replies.shift() ?? failing('upstream_changed'));
      const { climb } = chainOf([moody, method('second', titled)]);
      for (let round = 0; round < 9; round += 1) await climb();
      expect(moody.runs).to.equal(9);
      expect(outcomes(await climb())).to.deep.equal(['moody upstream_changed', 'second ok']);
      expect(outcomes(await climb())).to.deep.equal(['moody resting', 'second ok']);
    });

    it('counts no failure of a method when the caller leaves', async () => {
      const deaf = method('deaf', () => new Promise<Result>(() => {}));
      const { climb, clock } = chainOf([deaf], { methodMs: 1000 });
      for (let round = 0; round < 6; round += 1) {
        const caller = new AbortController();
        const climbed = climb(caller.signal).catch(() => 'left');
        await clock.advance(0);
        caller.abort(new Error('left'));
        await climbed;
      }
      const failed = failureOf(climb());
      await clock.advance(1000);
      expect(outcomes(await failed)).to.deep.equal(['deaf upstream_timeout']);
    });
  });

  describe('state', () => {
    it('reports for each method whether it is available, and why and how long it cools down', async () => {
      const { climb, clock, states } = chainOf([
        method('keyless', full, { available: () => false }),
        method('limited', failing('upstream_rate_limited', 40)),
        method('second', titled),
      ]);
      expect(states().map(({ coolDown }) => coolDown)).to.deep.equal([undefined, undefined, undefined]);
      expect(outcomes(await climb())).to.deep.equal(['keyless skipped', 'limited upstream_rate_limited', 'second ok']);
      await clock.advance(9_500);
      expect(states()).to.deep.equal([
        { name: 'keyless', available: false },
        { name: 'limited', available: true, coolDown: { code: 'upstream_rate_limited', seconds: 31 } },
        { name: 'second', available: true },
      ]);
      await clock.advance(30_500);
      expect(states()[1]).to.deep.equal({ name: 'limited', available: true });
    });
  });

  describe('a single method', () => {
    it('runs without the others, and returns an answer however small', async () => {
      const first = method('first', full);
      const { climb } = chainOf([first, method('second', scrap), method('third', failing('bot_check'))]);
      expect((await climb(never, 'second')).parts).to.deep.equal([{ method: 'second', found: { views: 1 } }]);
      expect(outcomes(await failureOf(climb(never, 'third')))).to.deep.equal(['third bot_check']);
      expect(first.runs).to.equal(0);
    });
  });
});
