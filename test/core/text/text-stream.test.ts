/** Event streams of models: cuts, silences, usage and bounds. */

import { expect } from 'chai';
import {
  type Clock,
  createGateway,
  type Gateway,
  GatewayError,
  systemClock,
  type TextAnswer,
  type TextOutcome,
  type TextRoute,
} from 'mediagate';
import { seededRandom } from '../../../core/testing/pruning.js';
import { inPieces, type Piece, type Script, scriptedText, UPSTREAM_MODEL } from '../../support/models/scripted-text.js';
import { answerTo } from '../../support/models/text-answer.js';
import { chatEvents, type UsagePlace } from '../../support/models/text-chat-format.js';
import { type Content, type Oddity, streamContent } from '../../support/models/text-delivery.js';
import { type ResponsesEnd, responsesEvents } from '../../support/models/text-responses-format.js';
import { rejection } from '../../support/rejection.js';
import { isLongRun, variants } from '../../support/runner/variants.js';

const PUBLIC = 'm-5.5';
const ROUTES: readonly TextRoute[] = ['chat_completions', 'responses'];
const QUESTION = 'Say "model": "vendor/secret-name" — and smile \u{1f600}';
const ODDITIES: readonly (readonly Oddity[])[] = [
  [],
  ['crlf', 'comments'],
  ['cr', 'fields'],
  ['no_space', 'loose_json', 'bom'],
  ['comments', 'unknown_events', 'keepalive', 'done'],
];

interface Streamed {
  text: string;
  outcome: TextOutcome;
  chunks: number;
}

/** Time that takes no leaps: how long the process was held up between two looks at it does not count. */
function evenClock(longestMs = 20): Clock {
  let [shown, looked] = [0, performance.now()];
  return {
    ...systemClock,
    monotonic() {
      const now = performance.now();
      shown += Math.min(now - looked, longestMs);
      looked = now;
      return shown;
    },
  };
}

describe('streams of text', () => {
  let gateway: Gateway;
  /** One that does not wait for long. */
  let hasty: Gateway;
  let script: () => Script;
  const model = scriptedText(() => script());

  before(async () => {
    gateway = await createGateway({ plugins: [{ use: model.plugin }] });
    hasty = await createGateway({
      plugins: [{ use: model.plugin }],
      services: { clock: evenClock() },
      text: { keepAliveMs: 60, idleMs: 400 },
    });
  });
  after(() => Promise.all([gateway.close(), hasty.close()]));

  const bodyOf = (route: TextRoute) => ({
    model: PUBLIC,
    stream: true,
    ...(route === 'responses' ? { input: QUESTION } : { messages: [{ role: 'user', content: QUESTION }] }),
  });

  interface Asked {
    more?: object;
    /** Default: the patient one. */
    of?: Gateway;
  }

  async function ask(route: TextRoute, pieces: Iterable<Piece>, asked?: Asked) {
    script = () => ({ pieces });
    return askAsScripted(route, asked);
  }

  async function askAsScripted(route: TextRoute, { more, of = gateway }: Asked = {}) {
    const parsed = { ...bodyOf(route), ...more };
    const body = Buffer.from(JSON.stringify(parsed));
    const prepared = await of.text.prepare({ route, body, parsed, owner: 'one', requestId: 'req_1' });
    return prepared.send();
  }

  async function stream(route: TextRoute, pieces: Iterable<Piece>, asked?: Asked): Promise<Streamed> {
    const exchange = await ask(route, pieces, asked);
    const chunks = await readAll(await exchange.answer);
    const text = Buffer.concat(chunks).toString('utf8');
    return { text, outcome: await exchange.ended, chunks: chunks.length };
  }

  interface Variant {
    odd?: readonly Oddity[];
    usage?: UsagePlace;
    includeUsage?: boolean;
    end?: ResponsesEnd;
    name?: string;
    thinks?: number;
  }

  function contentOf(route: TextRoute, variant: Variant = {}): Content {
    const { odd = [], usage = 'asked', includeUsage = true, end = 'regular', name = UPSTREAM_MODEL, thinks } = variant;
    const answer = answerTo(bodyOf(route), { reports: name, ...(thinks && { thinks }) }, 1);
    const events =
      route === 'responses'
        ? responsesEvents(answer, bodyOf(route), { end, withUsage: usage !== 'never', obfuscation: false })
        : chatEvents(answer, { usage, includeUsage, obfuscation: false });
    return streamContent(events, odd);
  }

  const usageOf = (route: TextRoute, variant: Variant = {}) => {
    const { input, output, cached, reasoning } = answerTo(bodyOf(route), variant, 1).usage;
    return {
      inputTokens: input,
      outputTokens: output,
      totalTokens: input + output,
      cachedTokens: cached,
      reasoningTokens: reasoning,
    };
  };

  for (const route of ROUTES) {
    describe(route, () => {
      for (const [turn, odd] of ODDITIES.entries()) {
        it(`pass through byte for byte but for the name of the model: ${odd.join(', ') || 'plain'}`, async () => {
          const sent = contentOf(route, { odd }).bytes;
          const expected = contentOf(route, { odd, name: PUBLIC }).bytes.toString('utf8');
          for (const size of variants([sent.length, 1, 2, 3, 7, 64], (one) => one === (turn % 2 === 0 ? 1 : 7))) {
            const { text, outcome } = await stream(route, inPieces(sent, size), {
              more: { stream_options: { include_usage: true } },
            });
            expect(text, `in pieces of ${size}`).to.equal(expected);
            expect(outcome).to.deep.include({ complete: true, usage: usageOf(route) });
          }
        });
      }

      it('yield the same events for a cut at any byte', async () => {
        const sent = contentOf(route, { odd: ['crlf'] }).bytes;
        const expected = contentOf(route, { odd: ['crlf'], name: PUBLIC }).bytes.toString('utf8');
        for (let at = 1; at < sent.length; at += isLongRun ? 1 : 13) {
          const { text } = await stream(route, [sent.subarray(0, at), sent.subarray(at)], {
            more: { stream_options: { include_usage: true } },
          });
          if (text !== expected) expect(text, `cut at ${at}`).to.equal(expected);
        }
      });

      it('end with the terminal event of the route if the upstream breaks off anywhere, and are counted', async () => {
        const { bytes: sent, boundaries } = contentOf(route, { thinks: 3 });
        const whole = contentOf(route, { thinks: 3, name: PUBLIC });
        const random = seededRandom(7);
        const places = new Set([
          ...boundaries,
          ...Array.from({ length: isLongRun ? 200 : 30 }, () => Math.floor(random() * sent.length)),
        ]);
        for (const at of places) {
          for (const end of [[], [new GatewayError('upstream_error', 'The connection broke off.')]]) {
            const { text, outcome } = await stream(route, [...inPieces(sent.subarray(0, at), 50), ...end], {
              more: { stream_options: { include_usage: true } },
            });
            const where = `cut at ${at} of ${sent.length}, ${end.length === 0 ? 'closed' : 'broken'}`;
            let count = boundaries.filter((boundary) => boundary <= at).length;
            // An event that lacks but its line ends is whole where nothing more comes.
            if (end.length === 0 && (boundaries[count] ?? Number.POSITIVE_INFINITY) <= at + 2) count += 1;
            const passed = whole.bytes.toString('utf8', 0, count === 0 ? 0 : whole.boundaries[count - 1]);
            expect(text, where).to.satisfy((one: string) => one.startsWith(passed));
            const told = eventsOf(text.slice(passed.length));
            expect(outcome.usage?.inputTokens, where).to.be.greaterThan(0);
            if (text === whole.bytes.toString('utf8') || isClosedWell(told)) {
              expect(outcome, where).to.include({ complete: true });
            } else {
              expect(outcome.complete, where).to.equal(false);
              expect(outcome.failure, where).to.include({ code: 'upstream_error' });
              checkFailure(route, told, eventsOf(passed));
            }
          }
        }
      });

      it('are counted once and completely if the client disconnects', async () => {
        const sent = contentOf(route).bytes;
        const exchange = await ask(route, [...inPieces(sent.subarray(0, sent.length - 250), 40), 'stall']);
        const { body } = await exchange.answer;
        if (body instanceof Uint8Array) throw new Error('no stream');
        let text = '';
        setTimeout(() => exchange.leave(), 40);
        for await (const bytes of body) text += Buffer.from(bytes).toString();
        expect(text).to.not.match(/"error":\{/);
        const outcome = await exchange.ended;
        expect(outcome.usage).to.include({ estimated: true });
        expect(outcome.usage?.outputTokens).to.be.greaterThan(3);
        expect(outcome.complete).to.equal(false);
        expect(model.calls.at(-1)?.signal.aborted).to.equal(true);
      });

      it('are closed upstream when the client stops reading', async () => {
        const closed = model.closed;
        const exchange = await ask(route, [contentOf(route).bytes.subarray(0, 700), 'stall']);
        const { body } = await exchange.answer;
        if (body instanceof Uint8Array) throw new Error('no stream');
        for await (const _ of body) break;
        const outcome = await exchange.ended;
        expect(outcome).to.include({ complete: false });
        expect(outcome.usage).to.include({ estimated: true });
        expect(model.calls.at(-1)?.signal.aborted).to.equal(true);
        expect(model.closed).to.equal(closed + 1);
      });

      it('get comments while the upstream is silent, and end if it stays silent', async () => {
        const { bytes, boundaries } = contentOf(route);
        const { text, outcome } = await stream(route, [bytes.subarray(0, (boundaries[1] ?? 0) + 10), 'stall'], {
          of: hasty,
        });
        expect(text.split(': keep-alive\n\n').length).to.be.greaterThan(3);
        expect(outcome.failure).to.include({ code: 'upstream_timeout' });
        expect(eventsOf(text).some(({ data }) => data.includes('stopped sending'))).to.equal(true);
      });
    });
  }

  it('hide usage that the caller did not request, and nothing else', async () => {
    const { bytes } = contentOf('chat_completions');
    const { text, outcome } = await stream('chat_completions', inPieces(bytes, 33));
    const lines = contentOf('chat_completions', { name: PUBLIC }).bytes.toString('utf8').split('\n\n');
    expect(text).to.equal(lines.filter((line) => !line.includes('"choices":[],')).join('\n\n'));
    expect(outcome.usage).to.deep.equal(usageOf('chat_completions'));
    const sent = JSON.parse(Buffer.from(model.calls.at(-1)?.body ?? []).toString());
    expect(sent.stream_options).to.deep.equal({ include_usage: true });
    expect(model.calls.at(-1)?.parsed, 'what providers read is what they send').to.deep.equal(sent);
  });

  it('keep usage that is part of another event', async () => {
    const variant = { usage: 'with_last', includeUsage: false } as const;
    const { text, outcome } = await stream('chat_completions', [contentOf('chat_completions', variant).bytes]);
    expect(text).to.equal(contentOf('chat_completions', { ...variant, name: PUBLIC }).bytes.toString('utf8'));
    expect(outcome.usage).to.deep.equal(usageOf('chat_completions'));
  });

  it('are estimated, and marked so, if no usage is reported', async () => {
    for (const route of ROUTES) {
      const { outcome } = await stream(route, [contentOf(route, { usage: 'never' }).bytes]);
      expect(outcome).to.include({ complete: true });
      const { inputTokens = 0, outputTokens = 0, totalTokens, estimated } = outcome.usage ?? {};
      expect(estimated).to.equal(true);
      // Counted by another tokenizer than words: near it, not at it.
      expect(inputTokens).to.be.within(10, 40);
      expect(outputTokens).to.be.within(10, 40);
      expect(totalTokens).to.equal(inputTokens + outputTokens);
    }
  });

  it('count nothing if the upstream only reports an error', async () => {
    const event = 'data: {"error":{"message":"The model is overloaded.","type":"server_error"}}\n\n';
    const { text, outcome } = await stream('chat_completions', [Buffer.from(event)]);
    expect(text).to.equal(`${event}data: [DONE]\n\n`);
    expect(outcome).to.deep.equal({ complete: true });
    const whole = await stream('chat_completions', [Buffer.from(`${event}data: [DONE]\n\n`)]);
    expect(whole.text).to.equal(text);
    const cut = await stream('chat_completions', [Buffer.from(event), new GatewayError('upstream_error', 'It broke.')]);
    expect(cut.text).to.equal(text);
    script = () => ({ contentType: 'application/json', pieces: [Buffer.from(event.slice(6))] });
    const exchange = await askAsScripted('chat_completions');
    expect(await rejection(exchange.answer)).to.include({ code: 'upstream_error' });
    const { usage, failure } = await exchange.ended;
    expect([usage, failure?.code]).to.deep.equal([undefined, 'upstream_error']);
  });

  it('are estimated if the reported usage is impossible', async () => {
    for (const tokens of [1e13, -1, 1.5, '7', 2 ** 53 - 1]) {
      const usage = { input_tokens: tokens, output_tokens: tokens, total_tokens: tokens };
      const done = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', usage } };
      const { outcome } = await stream('responses', [Buffer.from(`data: ${JSON.stringify(done)}\n\n`)]);
      expect(outcome.usage).to.include({ estimated: true });
      expect(outcome.usage?.inputTokens).to.be.below(1_000);
    }
  });

  it('forward failures of the upstream', async () => {
    for (const end of ['failed', 'error', 'nested_error'] as const) {
      const { text, outcome } = await stream('responses', [contentOf('responses', { end }).bytes]);
      expect(text).to.equal(contentOf('responses', { end, name: PUBLIC }).bytes.toString('utf8'));
      expect(outcome).to.include({ complete: true });
      expect(outcome.usage).to.include({ estimated: true });
    }
  });

  it('add a missing end mark to a chat that ended well', async () => {
    const { bytes, boundaries } = contentOf('chat_completions');
    const { text, outcome } = await stream('chat_completions', [bytes.subarray(0, boundaries.at(-2))]);
    expect(text.endsWith('data: [DONE]\n\n')).to.equal(true);
    expect(text.match(/\[DONE\]/g)).to.have.length(1);
    expect(outcome.complete).to.equal(true);
    const { text: open } = await stream('chat_completions', [
      contentOf('chat_completions', { odd: ['open_end'] }).bytes,
    ]);
    expect(open.endsWith('data: [DONE]\n\n')).to.equal(true);
    expect(open.match(/\[DONE\]/g)).to.have.length(1);
  });

  it('of several choices end well only after each choice has ended', async () => {
    const choice = (index: number, finish_reason: string | null) =>
      Buffer.from(`data: ${JSON.stringify({ choices: [{ finish_reason, index, delta: { content: 'x' } }] })}\n\n`);
    const begun = [choice(0, null), choice(11, null), choice(0, 'stop'), choice(0, null)];
    const { text, outcome } = await stream('chat_completions', begun);
    expect(outcome).to.include({ complete: false });
    checkFailure('chat_completions', eventsOf(text).slice(begun.length), []);
    const { text: whole, outcome: good } = await stream('chat_completions', [...begun, choice(11, 'length')]);
    expect(good).to.include({ complete: true });
    expect(isClosedWell(eventsOf(whole).slice(begun.length + 1))).to.equal(true);
  });

  it('have the public model name in data of several lines', async () => {
    const event = `event: x\ndata: {"id":"1",\ndata: "model": "${UPSTREAM_MODEL}",\ndata: "choices":[]}\nid: 7\n\n`;
    const { text } = await stream('chat_completions', [Buffer.from(event), Buffer.from('data: [DONE]\n\n')]);
    expect(text).to.equal('event: x\nid: 7\ndata: {"id":"1", "model": "m-5.5", "choices":[]}\n\ndata: [DONE]\n\n');
  });

  it('reserve as much as any upstream may use, within what can be counted', async () => {
    for (const [more, most] of [
      [{ max_tokens: Number.MAX_SAFE_INTEGER, n: Number.MAX_SAFE_INTEGER }, 1e12],
      [{ max_tokens: 2e15 }, 1e12],
      [{ max_completion_tokens: 1, max_tokens: 5_000 }, 5_000],
      [{ max_completion_tokens: 5_000, max_tokens: 1, n: 2 }, 10_000],
      [{ max_completion_tokens: -5, max_tokens: 0.5 }, 1_024],
    ] as const) {
      const parsed = { ...bodyOf('chat_completions'), ...more };
      const body = Buffer.from(JSON.stringify(parsed));
      const request = { route: 'chat_completions', body, parsed, owner: 'one', requestId: 'req_1' } as const;
      const { maxTokens } = await gateway.text.prepare(request);
      expect(maxTokens, JSON.stringify(more)).to.be.within(most, most + body.length);
    }
  });

  it('refuse an event without an end', async () => {
    const long = Array.from({ length: 34 }, () => Buffer.alloc(1024 * 1024, 'x'));
    const { text, outcome } = await stream('chat_completions', [Buffer.from('data: '), ...long]);
    expect(outcome.failure).to.include({ code: 'upstream_error' });
    checkFailure('chat_completions', eventsOf(text), []);
  });

  describe('from an upstream that never stops sending', () => {
    const SAYS = Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n');
    const floods: Record<string, string> = {
      'line feeds': '\n',
      'carriage returns': '\r',
      'both line ends': '\r\n',
      comments: ': ping\n\n',
      'a comment without an end': ':',
      'events without data': 'event: ping\n\n',
      'empty data': 'data:\n\n',
      'lines of data without an end': 'data: x\n',
      'empty lines of data without an end': 'data:\n',
      'fields without an end': 'id: 1\n',
    };
    for (const [index, [what, part]] of Object.entries(floods).entries()) {
      for (const route of variants(ROUTES, (one) => one === ROUTES[index % ROUTES.length])) {
        it(`end with the terminal event of ${route}: ${what}`, async () => {
          const chunk = Buffer.from(part.repeat(Math.ceil(65_536 / part.length)));
          let sent = 0;
          function* flood() {
            yield SAYS;
            // More than any bound, so that a stream without one ends as well.
            for (; sent < 40 * 1024 * 1024; sent += chunk.length) yield chunk;
          }
          const { text, outcome } = await stream(route, flood());
          expect(outcome.failure).to.include({ code: 'upstream_error' });
          expect(sent).to.be.below(what.startsWith('a comment') ? 34 * 1024 * 1024 : 1024 * 1024);
          expect(text.slice(-4_000)).to.include(route === 'responses' ? 'response.failed' : '"code":"upstream_error"');
          expect(model.calls.at(-1)?.signal.aborted).to.equal(true);
        });
      }
    }

    it('are bounded in the number of events', async () => {
      const chunk = Buffer.from('data: {}\n\n'.repeat(20_000));
      let sent = 0;
      function* flood() {
        for (; sent < 80; sent += 1) yield chunk;
      }
      const { outcome } = await stream('chat_completions', flood());
      expect(outcome.failure).to.include({ code: 'upstream_error' });
      expect(sent).to.be.within(50, 52);
    });

    it('may send comments and blank lines between events while it sends content', async () => {
      const quiet = Buffer.from(': ping\n\n\n\n'.repeat(10_000));
      function* pieces() {
        for (let count = 0; count < 12; count += 1) yield* [quiet, SAYS];
        yield Buffer.from('data: [DONE]\n\n');
      }
      const { text, outcome } = await stream('chat_completions', pieces());
      expect(outcome.complete).to.equal(true);
      expect(text.split('"Hi"')).to.have.length(13);
    });

    it('yield to the event loop within one piece', async () => {
      for (const part of ['data: {}\n\n', '\n', 'data: {}\r\n\r\n']) {
        const piece = Buffer.from(part.repeat(Math.ceil(200_000 / part.length)));
        let turns = 0;
        let isOver = false;
        const count = () => {
          turns += 1;
          if (!isOver) setImmediate(count);
        };
        const exchange = await ask('chat_completions', [piece, Buffer.from('data: [DONE]\n\n')]);
        const answer = await exchange.answer;
        count();
        await readAll(answer);
        isOver = true;
        // At least as many as there are pieces of 8 KiB, but for those that are due together.
        expect(turns, JSON.stringify(part)).to.be.greaterThan(5);
      }
    });
  });

  describe('of an upstream that reached its deadline', () => {
    const SAYS = Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n');
    const DONE = Buffer.from('data: [DONE]\n\n');
    const TICK_MS = 10;
    let elapsed = 0;
    let timed: Gateway;
    before(async () => {
      timed = await createGateway({
        plugins: [{ use: model.plugin }],
        services: { clock: { ...systemClock, monotonic: () => elapsed } },
        // Deadlines are looked at each ten milliseconds.
        text: { keepAliveMs: 4 * TICK_MS, idleMs: 400, totalMs: 3_000 },
      });
    });
    beforeEach(() => {
      elapsed = 0;
    });
    after(() => timed.close());

    /** Pieces that come so many milliseconds apart, with a look at the deadlines between them. */
    function* spaced(pieces: Iterable<Piece>, apartMs: number): Generator<Piece> {
      for (const piece of pieces) {
        elapsed += apartMs;
        yield new Promise((resolve) => setTimeout(resolve, 3 * TICK_MS));
        yield piece;
      }
    }

    it('continue while bytes arrive, and end well', async () => {
      const { outcome } = await stream('chat_completions', spaced([...Array(8).fill(SAYS), DONE], 300), { of: timed });
      expect(outcome).to.include({ complete: true });
      expect(outcome.failure).to.equal(undefined);
    });

    it('continue while bytes of an incomplete event arrive', async () => {
      const { outcome } = await stream('chat_completions', spaced([...inPieces(SAYS, 8), DONE], 300), { of: timed });
      expect(outcome).to.include({ complete: true });
    });

    it('end at the silence after a long answer', async () => {
      const { text, outcome } = await stream(
        'chat_completions',
        spaced([SAYS, SAYS, SAYS, ...spaced([SAYS], 450)], 300),
        { of: timed },
      );
      expect(outcome.failure).to.include({ code: 'upstream_timeout', message: 'The model stopped sending.' });
      expect(text).to.include('"type":"timeout_error"');
    });

    for (const route of ROUTES) {
      it(`end although the upstream trickles: ${route}`, async () => {
        const { text, outcome } = await stream(route, spaced(Array(25).fill(SAYS), 200), { of: timed });
        expect(outcome.failure).to.include({ code: 'upstream_timeout' });
        expect(outcome.failure?.message).to.include('within 3 s');
        expect(text).to.include(route === 'responses' ? 'response.failed' : '"code":"upstream_timeout"');
        expect(elapsed).to.be.within(3_000, 4_000);
        expect(model.calls.at(-1)?.signal.aborted).to.equal(true);
      });
    }

    it('end as whole answers too if they trickle or fall silent', async () => {
      const whole = Buffer.from('{"id":"1","choices":[{"message":{"content":"Hi"}}]}');
      const json = (pieces: Iterable<Piece>) => () => ({ contentType: 'application/json', pieces });
      const more = { stream: false };
      script = json(spaced(inPieces(whole, 1), 200));
      const trickling = await askAsScripted('chat_completions', { more, of: timed });
      expect(await rejection(trickling.answer)).to.include({ code: 'upstream_timeout' });
      expect(elapsed).to.be.within(3_000, 4_000);
      script = json(spaced(inPieces(whole, 1), 450));
      const silent = await askAsScripted('chat_completions', { more, of: timed });
      expect(await rejection(silent.answer)).to.include({ message: 'The model stopped sending.' });
      elapsed = 0;
      script = json(spaced(inPieces(whole, 8), 300));
      const slow = await askAsScripted('chat_completions', { more, of: timed });
      expect((await slow.answer).status).to.equal(200);
    });
  });

  it('are buffered up to 32 MiB as one whole answer', async () => {
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    let sent = 0;
    function* pieces(count: number) {
      yield Buffer.from('{"id":"1","choices":[{"message":{"content":"');
      for (sent = 0; sent < count; sent += 1) yield megabyte;
      yield Buffer.from('"}}]}');
    }
    for (const [count, fits] of [
      [31, true],
      [48, false],
    ] as const) {
      script = () => ({ contentType: 'application/json', pieces: pieces(count) });
      const exchange = await askAsScripted('chat_completions', { more: { stream: false } });
      if (fits) expect((await exchange.answer).status).to.equal(200);
      else {
        const error = (await rejection(exchange.answer)) as GatewayError;
        expect(error.code).to.equal('upstream_error');
        expect(error.cause).to.include({ message: 'The answer of the model is too long.' });
        expect(sent).to.be.within(31, 34);
        expect(model.calls.at(-1)?.signal.aborted).to.equal(true);
      }
      const { usage, complete } = await exchange.ended;
      expect(complete).to.equal(fits);
      expect(usage).to.include({ estimated: true });
    }
  });

  it('are estimated if a whole answer has too many values to parse', async () => {
    const body = `{"id":"1","choices":[${'{},'.repeat(150_000)}{}]}`;
    script = () => ({ contentType: 'application/json', pieces: [Buffer.from(body)] });
    const exchange = await askAsScripted('chat_completions', { more: { stream: false } });
    expect((await exchange.answer).status).to.equal(200);
    const { usage } = await exchange.ended;
    expect(usage?.outputTokens).to.be.greaterThan(1_000);
  });

  it('are counted by the reported usage, and by totals computed from it', async () => {
    const cases: (readonly [object, object | undefined])[] = [
      [
        { total_tokens: 30, completion_tokens: 12 },
        { inputTokens: 18, outputTokens: 12, totalTokens: 30 },
      ],
      [
        { total_tokens: 30, output_tokens: 12 },
        { inputTokens: 18, outputTokens: 12, totalTokens: 30 },
      ],
      [
        { total_tokens: 30, prompt_tokens: 12 },
        { inputTokens: 12, outputTokens: 18, totalTokens: 30 },
      ],
      [
        { total_tokens: 30, input_tokens: 12 },
        { inputTokens: 12, outputTokens: 18, totalTokens: 30 },
      ],
      [
        { total_tokens: 10, completion_tokens: 12 },
        { inputTokens: 0, outputTokens: 12, totalTokens: 10 },
      ],
      [
        { total_tokens: 10, prompt_tokens: 12 },
        { inputTokens: 12, outputTokens: 0, totalTokens: 10 },
      ],
      [
        { total_tokens: 12, completion_tokens: 12 },
        { inputTokens: 0, outputTokens: 12, totalTokens: 12 },
      ],
      [
        { prompt_tokens: 5, completion_tokens: 7 },
        { inputTokens: 5, outputTokens: 7, totalTokens: 12 },
      ],
      [{ total_tokens: 30 }, { totalTokens: 30 }],
      [{ completion_tokens: 7 }, { outputTokens: 7, totalTokens: 7 }],
      [
        {
          prompt_tokens: 9,
          completion_tokens: 3,
          prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 4 },
        },
        { inputTokens: 9, outputTokens: 3, totalTokens: 12, cachedTokens: 2, cacheWriteTokens: 4 },
      ],
      [
        { prompt_tokens: 9, completion_tokens: 3, cache_creation_input_tokens: 5 },
        { inputTokens: 9, outputTokens: 3, totalTokens: 12, cacheWriteTokens: 5 },
      ],
    ];
    for (const [usage, expected] of cases) {
      script = () => ({
        contentType: 'application/json',
        pieces: [Buffer.from(JSON.stringify({ id: '1', choices: [{ message: { content: 'Hi' } }], usage }))],
      });
      const whole = await askAsScripted('chat_completions', { more: { stream: false } });
      await whole.answer;
      expect((await whole.ended).usage, JSON.stringify(usage)).to.deep.equal(expected);
      const event = Buffer.from(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
      const { outcome } = await stream('chat_completions', [event]);
      expect(outcome.usage, JSON.stringify(usage)).to.deep.equal(expected);
    }
  });

  it("never contain the upstream's model name", async () => {
    for (const route of ROUTES) {
      const { bytes } = contentOf(route);
      const names = [...bytes.toString('utf8').matchAll(/"model":"vendor/g)].length;
      const { text } = await stream(route, [bytes]);
      expect(names).to.be.greaterThan(2);
      expect(text).to.not.match(/"model":"vendor/);
      // What the model itself says is left alone.
      expect(text).to.contain('vendor/secret-name');
    }
  });
});

async function readAll({ body }: TextAnswer): Promise<Uint8Array[]> {
  if (body instanceof Uint8Array) throw new Error('no stream');
  const chunks: Uint8Array[] = [];
  for await (const bytes of body) chunks.push(bytes);
  return chunks;
}

interface ParsedEvent {
  event?: string;
  data: string;
}

function eventsOf(text: string): ParsedEvent[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => {
      const fields = Object.fromEntries(event.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)));
      return { data: '', ...fields };
    });
}

function isClosedWell(told: readonly ParsedEvent[]): boolean {
  return told.length === 1 && told[0]?.data === '[DONE]';
}

function checkFailure(route: TextRoute, told: readonly ParsedEvent[], before: readonly ParsedEvent[]): void {
  const [failure, done] = told;
  const data = JSON.parse(failure?.data ?? '{}');
  if (route === 'chat_completions') {
    expect(data.error).to.include({ type: 'server_error', code: 'upstream_error', param: null, request_id: 'req_1' });
    expect(done?.data).to.equal('[DONE]');
    expect(told).to.have.length(2);
    return;
  }
  expect(told).to.have.length(1);
  expect(failure?.event).to.equal('response.failed');
  expect(data).to.include({ type: 'response.failed', sequence_number: before.length });
  const { id, created_at } = (before.length > 0 ? JSON.parse(before[0]?.data ?? '{}') : data).response;
  expect(data.response).to.include({ object: 'response', status: 'failed', model: PUBLIC, id, created_at });
  expect(data.response.error).to.include({ code: 'server_error' });
}
