/** Event streams of a running gateway, read by the standard. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventsOfBytes, readEvents } from '../../support/models/event-reading.js';
import type { Oddity } from '../../support/models/text-delivery.js';
import type { ResponsesEnd } from '../../support/models/text-responses-format.js';
import { startTextSite, type TextSite } from '../../support/models/text-site.js';
import { variants } from '../../support/runner/variants.js';

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const ODDITIES: readonly Oddity[] = [
  'comments',
  'crlf',
  'cr',
  'no_space',
  'fields',
  'loose_json',
  'keepalive',
  'unknown_events',
  'done',
  'bom',
  'open_end',
];
const ENDS: readonly (readonly [end: ResponsesEnd, type: string])[] = [
  ['regular', 'response.completed'],
  ['failed', 'response.failed'],
  ['error', 'error'],
  ['nested_error', 'error'],
];
/** By a standard parser's reading of the bytes. */
const MODEL = /"model"\s*:\s*"[^"]+"/;

/** Of an upstream that fails, or is in cool-down for it. */
const FAILED = [502, 503];

describe('streams of a running gateway, read by the standard', () => {
  let site: TextSite;
  before(async () => {
    site = await startTextSite({ restMs: 1 });
  });
  // The cool-down that a test before has caused has passed by then.
  beforeEach(() => sleep(50));
  beforeEach(() => site.upstream.reset());
  after(() => site.close());

  const bodyOf = (route: string, more: object = {}) => ({
    model: 'm-5.5',
    stream: true,
    ...(route === CHAT ? { messages: [{ role: 'user', content: 'one two three' }] } : { input: 'one two three' }),
    ...more,
  });

  /** What the upstream sent, as the gateway has to pass it on: under its own name of the model. */
  function expected() {
    const sent = eventsOfBytes(site.upstream.requests[0]?.content?.bytes ?? new Uint8Array());
    return sent.map(({ event, data }) => ({
      event,
      data: data.replace(MODEL, (member) => member.replace(/"[^"]+"$/, '"m-5.5"')),
    }));
  }

  for (const route of [CHAT, RESPONSES]) {
    for (const chunks of variants(['event', 'whole', 1, 5] as const, (one) => one === 'event' || one === 5)) {
      it(`${route}: lose nothing of any unusual form, in pieces of ${chunks}`, async () => {
        const forms: Oddity[][] = [[], ...ODDITIES.map((odd) => [odd]), ['crlf', 'comments', 'fields', 'bom']];
        for (const odd of forms) {
          site.upstream.reset();
          site.upstream.behave([{ does: 'answer', chunks, thinks: 3, odd, obfuscation: true }]);
          const answer = await site.post(route, bodyOf(route, { stream_options: { include_usage: true } }));
          expect(answer.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
          const { events, complaints, broken } = await readEvents(answer);
          expect([complaints, broken], odd.join()).to.deep.equal([[], undefined]);
          expect(
            events.map(({ event, data }) => ({ event, data })),
            odd.join(),
          ).to.deep.equal(expected());
          const data = events.filter(({ event }) => route === CHAT || event !== undefined).at(-1)?.data ?? '';
          if (route === CHAT) expect(data, odd.join()).to.equal('[DONE]');
          else expect(JSON.parse(data), odd.join()).to.include({ type: 'response.completed' });
        }
      });
    }
  }

  for (const [end, type] of ENDS) {
    it(`end a response as ${end} for the client, once`, async () => {
      site.upstream.behave([{ does: 'answer', end, odd: ['keepalive'] }]);
      const { events } = await readEvents(await site.post(RESPONSES, bodyOf(RESPONSES)));
      const types = events.map(({ data }) => JSON.parse(data).type);
      expect(types.at(-1)).to.equal(type);
      const terminal = /^(response\.(completed|failed|incomplete)|error)$/;
      expect(types.filter((one) => terminal.test(one))).to.have.length(1);
    });
  }

  it("hide the upstream's names in failures within its answer", async () => {
    const { origin } = site.upstream;
    const words = `gpt-5.5 at ${origin}/v1 is overloaded for sk-canary-of-the-upstream-0007, see req_0a1b2c3d4e5f.`;
    const head = { id: 'x', model: 'gpt-5.5' };
    const failed = { ...head, object: 'response', status: 'failed', output: [], error: { code: 'x', message: words } };
    const chunk = { ...head, choices: [{ index: 0, delta: { content: 'I am gpt-5.5.' }, finish_reason: null }] };
    const events = (...all: object[]) => all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
    const answers = [
      [CHAT, events(chunk, { error: { message: words, type: 'server_error', code: null } })],
      [CHAT, events(chunk, { ...head, error: words })],
      [CHAT, events(chunk) + events({ error: { message: words } }).replace('{"error"', '{\ndata: "error"')],
      [RESPONSES, events({ type: 'response.failed', sequence_number: 1, response: failed })],
      [RESPONSES, events({ type: 'error', sequence_number: 1, code: null, message: words, param: null })],
      [RESPONSES, events({ type: 'error', sequence_number: 1, error: { message: words } })],
      [RESPONSES, JSON.stringify(failed)],
    ] as const;
    for (const [route, bytes] of answers) {
      const contentType = bytes.startsWith('{') ? 'application/json' : 'text/event-stream';
      site.upstream.behave(() => ({ does: 'bytes', bytes, contentType }));
      const text = await (await site.post(route, bodyOf(route))).text();
      expect(text).to.contain('m-5.5 at … is overloaded for …, see …');
      expect(text.replace('I am gpt-5.5.', '')).to.not.match(/gpt|canary|req_0a|127\.0\.0\.1/);
      if (route === CHAT) expect(text, 'what the model says is its own').to.contain('I am gpt-5.5.');
    }
  });

  it('number the events of a response one by one', async () => {
    site.upstream.behave([{ does: 'answer', thinks: 3, cut: { events: 6 } }]);
    const { events } = await readEvents(await site.post(RESPONSES, bodyOf(RESPONSES)));
    const numbers = events.map(({ data }) => JSON.parse(data).sequence_number);
    expect(numbers).to.deep.equal([0, 1, 2, 3, 4, 5, 6]);
  });

  it('report an answer that is no stream as an error, or forward it with its own type', async () => {
    const pages = [
      { bytes: '<html>no such host</html>', contentType: 'text/html' },
      { bytes: 'upstream connect error', contentType: 'application/json' },
      { bytes: '', contentType: 'application/json' },
      { bytes: '{"error":{"message":"Overloaded."}}', contentType: 'application/json' },
    ];
    for (const route of [CHAT, RESPONSES]) {
      for (const page of pages) {
        site.upstream.behave(() => ({ does: 'bytes', ...page }));
        const answer = await site.post(route, bodyOf(route));
        const where = `${route} ${page.bytes}`;
        expect(answer.status, where).to.be.oneOf(FAILED);
        expect((await answer.json()).error, where)
          .to.have.property('type')
          .that.is.oneOf(['server_error', 'overloaded_error']);
      }
      for (const bytes of ['upstream connect error', '\u0000\u0001', 'data: {"error":']) {
        site.upstream.behave(() => ({ does: 'bytes', bytes, contentType: 'text/event-stream' }));
        const answer = await site.post(route, bodyOf(route));
        expect(answer.status, bytes).to.be.oneOf(FAILED);
        expect((await answer.json()).error, bytes)
          .to.have.property('type')
          .that.is.oneOf(['server_error', 'overloaded_error']);
      }
    }
  });

  it('send a whole answer as events if a stream was requested', async () => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Ahoy.' }, finish_reason: 'stop' }];
    const bytes = JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', model: 'vendor-1', choices });
    site.upstream.behave([{ does: 'bytes', bytes, contentType: 'application/json' }]);
    const answer = await site.post(CHAT, bodyOf(CHAT));
    expect(answer.headers.get('content-type')).to.include('text/event-stream');
    const { events } = await readEvents(answer);
    expect(events.at(-1)?.data).to.equal('[DONE]');
    expect(JSON.parse(events[1]?.data ?? '')).to.deep.include({ id: 'chatcmpl-1', model: 'm-5.5' });
  });
});
