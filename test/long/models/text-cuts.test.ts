/** Interrupted model answers: how clients see them and how they are counted. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { seededRandom } from '../../../core/testing/pruning.js';
import type { UsageEntry } from '../../../server/usage/usage-log.js';
import { readEvents } from '../../support/models/event-reading.js';
import type { Delivery, Place } from '../../support/models/text-delivery.js';
import { startTextSite, type TextSite } from '../../support/models/text-site.js';
import type { TextUpstreamRequest } from '../../support/models/text-upstream.js';
import { isLongRun, variants } from '../../support/runner/variants.js';

const ROUTES = ['/v1/chat/completions', '/v1/responses', '/v1/messages'] as const;
const MESSAGES = '/v1/messages';
const QUESTION = 'Which tugs lie at the pier of Ostend this morning?';
const RANDOM_PLACES = isLongRun ? 200 : 12;
/** Ten answers in a row without a word are a reason for a cool-down. */
const RESTING = 'upstream_unavailable';
/** Requests at the same time. */
const LANES = 8;

/** What a client saw of one request. */
interface Seen {
  id: string;
  /** Text of the model that reached it. */
  text: string;
  /** The answer's own end, or an HTTP error. */
  end: 'whole' | 'told' | 'refused' | 'left';
}

interface Refusal {
  error: { type: string; code?: string; request_id?: string };
  request_id?: string;
}

describe('interrupted answers', () => {
  let site: TextSite;
  const seen: Seen[] = [];
  let ledger: Map<string, UsageEntry[]>;

  before(async function () {
    this.timeout(180_000);
    site = await startTextSite({ restMs: 1, environment: { MESSAGES_ENABLED: 'true' } });
    // Each request says by its own words where it is cut.
    site.upstream.behave((request) => ({ does: 'answer', ...cutOf(request) }));
    for (const route of ROUTES) {
      const whole = await ask(route, true);
      seen.push(whole);
      const content = site.upstream.requests.at(-1)?.content;
      if (!content) throw new Error('the upstream was not asked');
      const random = seededRandom(11);
      const places: Place[] = [
        ...variants(
          content.boundaries.map((_, index) => ({ events: index })),
          ({ events }) => events % 3 === 0,
        ),
        ...Array.from({ length: RANDOM_PLACES }, () => ({ bytes: Math.floor(random() * content.bytes.length) })),
      ];
      await inLanes(places, async (place) => {
        seen.push(await ask(route, true, place));
      });
      const bytes = Array.from({ length: RANDOM_PLACES / 4 }, () => ({ bytes: 1 + Math.floor(random() * 300) }));
      await inLanes(bytes, async (place) => {
        seen.push(await ask(route, false, place));
      });
    }
    // The last cool-down has passed by then.
    await sleep(200);
    for (const route of ROUTES) seen.push(await leave(route));
    const entries = await site.stopAndReadLedger();
    // What a client calls a request is the beginning of what the ledger does.
    ledger = Map.groupBy(entries, ({ requestId }) => requestId.split('/')[0] ?? '');
  });
  after(() => site.close());

  async function ask(route: string, stream: boolean, place?: Place): Promise<Seen> {
    const id = `cut-${seen.length}-${Math.random().toString(36).slice(2)}`;
    const content = `${QUESTION} ${JSON.stringify({ cut: place })}`;
    const body = { model: 'm-5.5', stream, ...saidOn(route, content) };
    const answer = await site.post(route, body, { headers: { 'x-request-id': id } });
    if (answer.status !== 200) {
      const { error, request_id: named = error.request_id } = (await answer.json()) as Refusal;
      const kind = route === MESSAGES ? error.type : error.code;
      const [failed, resting] = route === MESSAGES ? ['api_error', 'overloaded_error'] : ['upstream_error', RESTING];
      const expected = answer.status === 502 ? [502, failed, id] : [route === MESSAGES ? 529 : 503, resting, id];
      expect([answer.status, kind, named], id).to.deep.equal(expected);
      return { id, text: '', end: 'refused' };
    }
    if (!stream) return { id, text: await answer.text(), end: 'whole' };
    const { events, complaints, broken } = await readEvents(answer);
    expect([complaints, broken], id).to.deep.equal([[], undefined]);
    return { id, ...readerOf(route)(events, id) };
  }

  /** Hangs up in the middle of what the model says. */
  async function leave(route: string): Promise<Seen> {
    const id = `left-${seen.length}`;
    const stall = { events: 8 };
    const leaving = new AbortController();
    const body = { model: 'm-5.5', stream: true, ...saidOn(route, `${QUESTION} ${JSON.stringify({ stall })}`) };
    const answer = await site.post(route, body, { headers: { 'x-request-id': id }, signal: leaving.signal });
    let text = '';
    try {
      for await (const bytes of answer.body ?? []) {
        text += Buffer.from(bytes).toString();
        if (text.includes('tugs')) leaving.abort();
      }
    } catch (error) {
      if (!leaving.signal.aborted) throw error;
    }
    expect((await site.upstream.requests.at(-1)?.ended)?.whole, id).to.equal(false);
    return { id, text, end: 'left' };
  }

  const within = (end: Seen['end']) => seen.filter((one) => one.end === end);

  it('end with the terminal event of their route, or are complete HTTP errors', () => {
    // The kinds there are; that each answer is of one of them was looked at while it was read.
    expect(within('told').length).to.be.greaterThan(2 * RANDOM_PLACES * 0.8);
    expect(within('refused').length).to.be.greaterThan(RANDOM_PLACES / 4);
    expect(within('whole').length).to.be.greaterThan(1);
    expect(within('told').some(({ text }) => text.includes('pier of Ostend'))).to.equal(true);
  });

  it('appear in the usage log once each', () => {
    const rows = seen.map(({ id }) => ledger.get(id)?.length ?? 0);
    expect(new Set(rows)).to.deep.equal(new Set([1]));
    expect([...ledger.values()].flat()).to.have.length(seen.length);
  });

  it('count delivered text, by an estimate if the upstream reported none', () => {
    for (const { id, text, end } of seen) {
      const [row] = ledger.get(id) ?? [];
      const where = `${id} ${end} ${JSON.stringify(row)}`;
      expect(row?.status, where).to.be.oneOf(end === 'refused' ? [502, 503, 529] : [200]);
      if (text !== '') {
        expect(row?.inputTokens, where).to.be.greaterThan(5);
        expect(row?.outputTokens, where).to.be.greaterThan(0);
      }
      if (end === 'left') expect(row?.estimated, where).to.equal(true);
      if (end === 'told') expect(row?.inputTokens, where).to.be.greaterThan(0);
      // An end that was cut off after the usage was told needs no estimate.
      if (end === 'whole') expect(row?.estimated, where).to.equal(false);
    }
    const told = within('told').map(({ id }) => ledger.get(id)?.[0]?.estimated);
    expect(told.filter((estimated) => estimated).length).to.be.greaterThan(told.length * 0.8);
  });
});

type Events = Awaited<ReturnType<typeof readEvents>>['events'];

/** @throws AssertionError where the stream has no end of its own, or more than one. */
function readChat(events: Events, id: string): Omit<Seen, 'id'> {
  expect(events.at(-1)?.data, id).to.equal('[DONE]');
  const chunks = events.slice(0, -1).map(({ data }) => JSON.parse(data));
  const failures = chunks.filter(({ error }) => error !== undefined);
  const text = chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join('');
  if (failures.length === 0) {
    expect(chunks.at(-1).choices[0].finish_reason, id).to.equal('stop');
    return { text, end: 'whole' };
  }
  expect(failures, id).to.have.length(1);
  expect(chunks.at(-1).error, id).to.include({ code: 'upstream_error', request_id: id });
  return { text, end: 'told' };
}

/** As {@link readChat}. */
function readResponse(events: Events, id: string): Omit<Seen, 'id'> {
  const all = events.map(({ data }) => JSON.parse(data));
  const terminal = all.filter(({ type }) => /^response\.(completed|failed|incomplete)$/.test(type));
  expect(terminal, id).to.have.length(1);
  expect(all.at(-1), id).to.equal(terminal[0]);
  const text = all.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
  if (terminal[0].type === 'response.completed') return { text, end: 'whole' };
  expect(terminal[0].response, id).to.deep.include({ status: 'failed', model: 'm-5.5' });
  return { text, end: 'told' };
}

/** As {@link readChat}. */
function readMessage(events: Events, id: string): Omit<Seen, 'id'> {
  const all = events.map(({ event, data }) => ({ event, ...JSON.parse(data) }));
  const terminal = all.filter(({ event }) => event === 'message_stop' || event === 'error');
  expect(terminal, id).to.have.length(1);
  expect(all.at(-1), id).to.equal(terminal[0]);
  const text = all.map(({ event, delta }) => (event === 'content_block_delta' ? delta.text : '')).join('');
  if (terminal[0].event === 'message_stop') return { text, end: 'whole' };
  expect(terminal[0], id).to.deep.include({ type: 'error', request_id: id });
  expect(terminal[0].error.type, id).to.equal('api_error');
  return { text, end: 'told' };
}

function readerOf(route: string): typeof readChat {
  if (route === MESSAGES) return readMessage;
  return route === '/v1/responses' ? readResponse : readChat;
}

function saidOn(route: string, content: string): object {
  if (route === '/v1/responses') return { input: content };
  return { messages: [{ role: 'user', content }], ...(route === MESSAGES && { max_tokens: 1_000 }) };
}

function cutOf({ bytes }: TextUpstreamRequest): Delivery {
  const [told] = /\{\\"(cut|stall)\\":\{[^}]+\}\}/.exec(bytes.toString()) ?? [];
  return told === undefined ? {} : (JSON.parse(told.replaceAll('\\', '')) as Delivery);
}

async function inLanes<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
