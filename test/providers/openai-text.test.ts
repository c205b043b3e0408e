/** The OpenAI text provider over sockets. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'chai';
import {
  createGateway,
  type Gateway,
  type GatewayError,
  type LogFields,
  type Logger,
  type ResponsesTask,
  type StoredResponseCall,
  type TextCall,
  type TextProvider,
  type TextReply,
} from 'mediagate';
import openaiText from 'mediagate/plugins/openai_text';
import { startOrigin } from '../support/links/origin-server.js';
import { startTextUpstream, type TextUpstream, type TextUpstreamAnswer } from '../support/models/text-upstream.js';
import { rejection } from '../support/rejection.js';
import { variants } from '../support/runner/variants.js';

const KEY = 'sk-canary-of-the-upstream-0002';
const MODEL = 'vendor-model-x9';

/** As the vendor refuses our account, and not a request. */
const FORBIDDEN = { type: 'request_forbidden', code: 'unsupported_country_region_territory' };

type UpstreamOptions = Record<string, unknown>;

describe('openai_text over sockets', () => {
  let first: TextUpstream;
  let second: TextUpstream;
  const gateways: Gateway[] = [];
  let lines: { level: string; message: string; fields: LogFields }[] = [];

  before(async () => {
    [first, second] = await Promise.all([startTextUpstream({ apiKey: KEY }), startTextUpstream()]);
  });
  beforeEach(() => {
    first.reset();
    second.reset();
    lines = [];
  });
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
  });
  after(() => Promise.all([first.close(), second.close()]));

  const one = (more: UpstreamOptions = {}): UpstreamOptions => ({ url: first.baseUrl, apiKey: KEY, ...more });
  const other = (more: UpstreamOptions = {}): UpstreamOptions => ({ url: second.baseUrl, ...more });

  async function provider(
    upstreams: readonly UpstreamOptions[],
    more: object = {},
    ...trusted: readonly string[]
  ): Promise<TextProvider> {
    const write =
      (level: string) =>
      (message: string, fields: LogFields = {}) =>
        void lines.push({ level, message, fields });
    const logger: Logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    const options = { models: [{ id: 'm-5.5', model: MODEL }], upstreams, ...more };
    const gateway = await createGateway({
      plugins: [{ use: openaiText, options }],
      trustedOrigins: [first.origin, second.origin, 'http://127.0.0.1:1', ...trusted],
      services: { logger },
    });
    gateways.push(gateway);
    const found = gateway.textProvider('m-5.5');
    if (!found) throw new Error(JSON.stringify(gateway.plugins()));
    return found.provider;
  }

  function call(more: Partial<TextCall> & { text?: string } = {}): TextCall {
    const { route = 'chat_completions', stream = false, text = '{"model":"m-5.5","messages":[]}', ...rest } = more;
    const body = stream ? text.replace(/\}$/, ',"stream":true}') : text;
    const signal = new AbortController().signal;
    return { route, stream, model: 'm-5.5', body: Buffer.from(body), parsed: JSON.parse(body), signal, ...rest };
  }

  async function read({ body }: TextReply): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async function failureOf(work: Promise<unknown>): Promise<GatewayError> {
    const error = (await rejection(work)) as GatewayError;
    // The log alone names the upstream's request, in a field of its own.
    const logged = lines.map(({ fields: { upstreamRequestId: _, ...fields }, ...line }) => ({ ...line, fields }));
    const said = JSON.stringify([error.message, error.reason, error.param, logged]);
    for (const secret of [KEY, MODEL, 'req_0a1b2c3d4e5f', first.origin]) expect(said).not.to.include(secret);
    return error;
  }

  const refusal = (status: number, more: object = {}): TextUpstreamAnswer => ({ does: 'error', status, ...more });

  describe('a request', () => {
    it("is sent byte by byte but for the model's name", async () => {
      const text = '{ "messages" : [],"x":12345678901234567890 , "model":"m-5.5" ,"y":"\\u00e9"}';
      const reply = await (await provider([one()])).send(call({ text }));
      expect(first.requests[0]?.bytes.toString()).to.equal(text.replace('m-5.5', MODEL));
      expect(first.requests[0]).to.include({ method: 'POST', path: '/v1/chat/completions' });
      expect(first.requests[0]?.headers).to.include({
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'identity',
      });
      expect(await read(reply)).to.deep.equal(first.requests[0]?.content?.bytes);
      expect(reply).to.include({ status: 200, upstreamModel: MODEL });
    });

    it('is answered byte by byte, in pieces of any size', async () => {
      const providers = await provider([one()]);
      for (const route of ['chat_completions', 'responses'] as const) {
        for (const chunks of variants(['event', 'whole', 1, 13] as const, (one) => one === 'event' || one === 13)) {
          first.behave([{ does: 'answer', chunks, odd: ['comments', 'crlf', 'loose_json', 'unknown_events'] }]);
          const reply = await providers.send(
            call({ route, stream: true, text: '{"model":"m-5.5","input":"x","messages":[]}' }),
          );
          expect(reply.headers['content-type']).to.equal('text/event-stream; charset=utf-8');
          expect(await read(reply), `${route} ${chunks}`).to.deep.equal(first.requests.at(-1)?.content?.bytes);
        }
      }
    });

    it('forwards header fields for the client, and none between the upstream and the gateway', async () => {
      const { headers } = await (await provider([one()])).send(call());
      expect(headers).to.deep.equal({
        'content-type': 'application/json',
        'openai-processing-ms': '12',
        'openai-version': '2020-10-01',
      });
    });

    it('goes only to upstreams of its format', async () => {
      const mixed = await provider([one({ routes: ['responses'] }), other({ routes: ['chat_completions'] })]);
      expect(mixed.models[0]?.routes).to.deep.equal(['chat_completions', 'responses']);
      await read(await mixed.send(call()));
      await read(await mixed.send(call({ route: 'responses' })));
      expect([first, second].map(({ requests }) => requests.map(({ path }) => path))).to.deep.equal([
        ['/v1/responses'],
        ['/v1/chat/completions'],
      ]);
      const only = await provider([one({ routes: ['responses'] })]);
      expect(only.models[0]?.routes).to.deep.equal(['responses']);
    });

    it('is distributed by weight', async () => {
      const weighted = await provider([one({ weight: 3 }), other({ weight: 1 })]);
      for (let count = 0; count < 8; count++) await read(await weighted.send(call()));
      expect([first.requests.length, second.requests.length]).to.deep.equal([6, 2]);
    });

    it('is answered after two seconds if the model has not begun', async () => {
      const patient = await provider([one()]);
      first.behave([{ does: 'answer', stall: { events: 0 } }]);
      const begun = performance.now();
      const leaving = new AbortController();
      const reply = await patient.send(call({ stream: true, signal: leaving.signal }));
      expect(performance.now() - begun).to.be.at.least(1_900);
      leaving.abort(new Error('the caller left'));
      expect(await rejection(read(reply))).to.have.property('message', 'the caller left');
    });
  });

  describe('a failure', () => {
    it('before the first byte sends the request elsewhere', async () => {
      const failures: TextUpstreamAnswer[] = [
        refusal(500),
        refusal(503, { text: '<!doctype html><title>Down</title>' }),
        refusal(429, { headers: { 'retry-after': '30' } }),
        refusal(401),
        refusal(403, FORBIDDEN),
        refusal(429, { code: 'insufficient_quota' }),
        refusal(404, { code: 'model_not_found' }),
        { does: 'bytes', bytes: '<!doctype html><title>Sign in</title>', contentType: 'text/html' },
        { does: 'bytes', bytes: '', contentType: 'application/json' },
        { does: 'answer', cut: 'before_headers' },
        { does: 'answer', cut: { bytes: 0 } },
      ];
      for (const failure of failures) {
        first.reset();
        second.reset();
        first.behave([failure]);
        for (const stream of [true, false]) {
          first.behave([failure]);
          const reply = await (await provider([one(), other({ weight: 0 })])).send(call({ stream }));
          expect(await read(reply), JSON.stringify(failure)).to.deep.equal(second.requests.at(-1)?.content?.bytes);
        }
        expect([first.requests.length, second.requests.length], JSON.stringify(failure)).to.deep.equal([2, 2]);
      }
    });

    it('has its own name if no other upstream helps', async () => {
      const meant: readonly [TextUpstreamAnswer, code: string, tries: number][] = [
        [refusal(500, { message: `${MODEL} broke (req_0a1b2c3d4e5f)` }), 'upstream_error', 3],
        [refusal(401, { message: `Incorrect API key provided: ${KEY}` }), 'upstream_auth_error', 1],
        [refusal(402), 'upstream_auth_error', 1],
        [refusal(403, FORBIDDEN), 'upstream_auth_error', 1],
        [refusal(404), 'upstream_error', 1],
        [refusal(500, { headers: { 'x-should-retry': 'false' } }), 'upstream_error', 1],
        [refusal(429, { headers: { 'retry-after': '30' } }), 'upstream_rate_limited', 1],
        [{ does: 'answer', cut: 'before_headers' }, 'upstream_error', 3],
      ];
      for (const [answer, code, tries] of meant) {
        first.reset();
        first.behave(() => answer);
        const error = await failureOf((await provider([one()])).send(call({ stream: true })));
        expect([error.code, first.requests.length], JSON.stringify(answer)).to.deep.equal([code, tries]);
      }
      expect(lines.some(({ level, fields }) => level === 'error' && fields.code === 'upstream_auth_error')).to.equal(
        true,
      );
    });

    it("states the upstream's wait", async () => {
      const waits: readonly [object, number][] = [
        [{ 'retry-after': '30' }, 30],
        [{ 'retry-after-ms': '20500', 'retry-after': '7' }, 21],
      ];
      for (const [headers, seconds] of waits) {
        first.behave(() => refusal(429, { headers }));
        const limited = await provider([one()]);
        expect(await failureOf(limited.send(call()))).to.include({ retryAfterSeconds: seconds });
      }
    });

    it('waits a moment if the upstream asks for one', async () => {
      first.behave([refusal(429, { headers: { 'retry-after-ms': '60' } })]);
      const begun = performance.now();
      await read(await (await provider([one()])).send(call()));
      expect(performance.now() - begun).to.be.at.least(59);
      expect(first.requests).to.have.length(2);
    });

    it('of the caller is returned unchanged, once, without names', async () => {
      const faults: readonly [status: number, error: object, code: string, param: string | undefined][] = [
        [400, { code: 'context_length_exceeded', param: 'messages' }, 'context_length_exceeded', 'messages'],
        [400, { message: "This model's maximum context length is 9 tokens." }, 'context_length_exceeded', undefined],
        [400, { code: 'unsupported_value', param: 'temperature' }, 'unsupported_value', 'temperature'],
        [400, { code: 'unknown_parameter', param: 'input[0].x' }, 'unsupported_parameter', 'input[0].x'],
        [400, { code: 'content_filter' }, 'content_filter', undefined],
        [404, { param: 'input', message: "Item with id 'rs_1' not found." }, 'invalid_value', 'input'],
        [404, { message: "Conversation with id 'conv_1' not found." }, 'invalid_value', undefined],
        [403, { code: 'content_policy_violation' }, 'content_filter', undefined],
        [403, {}, 'invalid_value', undefined],
        [413, {}, 'context_length_exceeded', undefined],
        [422, {}, 'invalid_value', undefined],
      ];
      for (const [status, error, code, param] of faults) {
        first.reset();
        first.behave([refusal(status, { message: `${MODEL} at ${first.baseUrl} says\n no to ${KEY}`, ...error })]);
        const failure = await failureOf((await provider([one(), other({ weight: 0 })])).send(call()));
        expect([failure.code, failure.param, failure.retryable], JSON.stringify(error)).to.deep.equal([
          code,
          param,
          false,
        ]);
        if (!('message' in error)) expect(failure.message).to.equal('m-5.5 at … says no to …');
        expect([first.requests.length, second.requests.length]).to.deep.equal([1, 0]);
      }
      expect(JSON.stringify(lines), 'words of a request are not for the log').not.to.include('says');
    });

    it('to read data of another upstream sends the request there', async () => {
      const message = 'The encrypted content gAAA...yg== could not be verified.';
      const unread = refusal(400, { code: 'invalid_encrypted_content', message });
      first.behave([unread]);
      const reply = await (await provider([one(), other({ weight: 0 })])).send(call({ route: 'responses' }));
      expect(await read(reply)).to.deep.equal(second.requests[0]?.content?.bytes);
      const alone = await provider([one()]);
      for (let count = 0; count < 11; count++) {
        first.behave([unread]);
        expect(await failureOf(alone.send(call()))).to.include({ code: 'invalid_value', message });
      }
      expect(JSON.stringify(lines), 'words of a request are not for the log').not.to.include('gAAA');
      expect(new Set(lines.map(({ level }) => level)), 'nobody can mend it').to.deep.equal(new Set(['info']));
    });

    it('that callers cause themselves puts no upstream into cool-down', async () => {
      const busy = await provider([one()]);
      first.behave(() => refusal(409, { code: 'conversation_locked' }));
      for (let count = 0; count < 4; count++) {
        expect(await failureOf(busy.send(call()))).to.include({ code: 'upstream_conflict', retryable: false });
      }
      expect(first.requests, 'each is asked once').to.have.length(4);
      expect(busy.upstreams?.()[0]).to.include({ isCoolingDown: false });
    });

    it('that one request causes leaves the model open for others', async () => {
      const refusals = [
        refusal(403, { type: 'request_forbidden', code: 'content_policy_violation' }),
        refusal(403, { type: 'request_forbidden', message: 'The prompt was flagged by our moderation.' }),
        refusal(403, { type: 'invalid_request_error' }),
        refusal(400),
        refusal(404, { message: 'Not Found' }),
        refusal(413),
        refusal(422),
      ];
      for (const answer of refusals) {
        const open = await provider([one()]);
        first.behave(Array.from({ length: 10 }, () => answer));
        for (let count = 0; count < 10; count++) await failureOf(open.send(call()));
        expect(await read(await open.send(call())), JSON.stringify(answer)).not.to.have.length(0);
        expect(open.upstreams?.()[0], JSON.stringify(answer)).to.include({ isCoolingDown: false });
      }
      const shut = await provider([one()]);
      first.behave(Array.from({ length: 10 }, () => refusal(403, FORBIDDEN)));
      for (let count = 0; count < 10; count++) await failureOf(shut.send(call()));
      expect(await failureOf(shut.send(call())), 'of our credentials').to.include({ code: 'upstream_unavailable' });
    });

    it('of a limit with Retry-After: 30 is returned to its caller, and another caller a second later is tried', async () => {
      const limited = await provider([one()]);
      first.behave([refusal(429, { headers: { 'retry-after': '30' } })]);
      expect(await failureOf(limited.send(call()))).to.include({
        code: 'upstream_rate_limited',
        retryAfterSeconds: 30,
      });
      await new Promise((done) => setTimeout(done, 1_000));
      expect(await read(await limited.send(call()))).not.to.have.length(0);
      expect(first.requests).to.have.length(2);
    });

    it("of a limit admits others at the pace of the upstream's headers", async () => {
      const paced = await provider([one()]);
      const headers = {
        'retry-after': '30',
        'x-ratelimit-limit-requests': '10',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '2s',
      };
      first.behave([refusal(429, { headers })]);
      // The pace counts from the refusal, which a busy machine may take a while to report.
      const begun = performance.now();
      await failureOf(paced.send(call()));
      const times = await Promise.all(
        Array.from({ length: 4 }, async () => {
          await read(await paced.send(call()));
          return performance.now() - begun;
        }),
      );
      // One in 200 ms.
      times.sort((a, b) => a - b);
      for (const [index, ms] of times.entries()) expect(ms).to.be.at.least(200 * (index + 1) - 20);
      expect(first.requests).to.have.length(5);
    });

    it('in the middle of an answer ends it without another attempt', async () => {
      for (const stream of [true, false]) {
        first.behave([{ does: 'answer', cut: stream ? { events: 3 } : { bytes: 250 } }]);
        const reply = await (await provider([one(), other({ weight: 0 })])).send(call({ stream }));
        expect(await failureOf(read(reply))).to.include({ code: 'upstream_error' });
        expect(second.requests).to.have.length(0);
      }
    });

    it('before the first output sends the request to another upstream', async () => {
      for (const stream of [true, false]) {
        first.behave([{ does: 'answer', cut: { bytes: 40 } }]);
        const reply = await (await provider([one(), other({ weight: 0 })])).send(call({ stream }));
        expect(await read(reply)).to.deep.equal(second.requests.at(-1)?.content?.bytes);
      }
    });

    it('to send anything ends an answer after the allowed silence, and not before', async () => {
      const hasty = await provider([one()], { idleMs: 1_500 });
      first.behave([{ does: 'answer', stall: { events: 2 } }]);
      const silent = await hasty.send(call({ stream: true }));
      expect(await failureOf(read(silent))).to.include({ code: 'upstream_timeout' });
      first.behave([{ does: 'answer', text: 'word '.repeat(20), pauseMs: 100 }]);
      const slow = await hasty.send(call({ stream: true }));
      expect(await read(slow)).to.deep.equal(first.requests.at(-1)?.content?.bytes);
    });

    it('to begin in time is reported, without another attempt after the deadline', async () => {
      first.behave(() => ({ does: 'answer', stall: 'before_headers' }));
      const hasty = await provider([one()], { budgetMs: 1_000 });
      expect(await failureOf(hasty.send(call()))).to.include({ code: 'upstream_timeout' });
      expect(first.requests).to.have.length(1);
    });

    it('to begin sends the request to another upstream while half of the time is left', async () => {
      first.behave(() => ({ does: 'answer', stall: 'before_headers' }));
      const reply = await (await provider([one(), other({ weight: 0 })], { budgetMs: 1_000 })).send(call());
      expect(await read(reply)).to.deep.equal(second.requests[0]?.content?.bytes);
    });

    it('to connect sends the request to another upstream, and is reported without one', async () => {
      const closed = createServer().listen(0, '127.0.0.1');
      await once(closed, 'listening');
      const address = closed.address();
      closed.close();
      const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`;
      const gateway = await createGateway({
        plugins: [{ use: openaiText, options: { models: 'm-5.5', upstreams: [{ url }, other({ weight: 0 })] } }],
        trustedOrigins: [second.origin, new URL(url).origin],
      });
      gateways.push(gateway);
      const reply = await gateway.textProvider('m-5.5')?.provider.send(call());
      expect(reply?.upstreamModel).to.equal('m-5.5');
    });

    it('that repeats causes no storm of retries', async () => {
      first.behave(() => refusal(429));
      const stormy = await provider([one()]);
      const begun = performance.now();
      const calls = Array.from({ length: 60 }, () => rejection(stormy.send(call())));
      await Promise.all(calls);
      // Two more for each call would be 180; each second brings one that is free.
      const free = Math.min(10, Math.ceil((performance.now() - begun) / 1_000));
      expect(first.requests.length).to.be.within(60 + 10, 60 + 10 + 60 * 0.2 + free);
    });
  });

  describe('a caller that leaves', () => {
    it('ends the request at the upstream at any stage', async () => {
      const places: TextUpstreamAnswer[] = [
        { does: 'answer', stall: 'before_headers' },
        { does: 'answer', stall: { events: 0 } },
        { does: 'answer', stall: { events: 2 } },
      ];
      const left = await provider([one()]);
      for (const place of places) {
        first.behave([place]);
        const leaving = new AbortController();
        const gone = new Error('the caller left');
        const seen = first.next();
        const work = left.send(call({ stream: true, signal: leaving.signal })).then(read);
        const request = await seen;
        // Past the head, and past what was sent.
        await new Promise((resolve) => setTimeout(resolve, 50));
        leaving.abort(gone);
        expect(await rejection(work)).to.equal(gone);
        expect((await request.ended).whole).to.equal(false);
      }
      expect(first.requests).to.have.length(places.length);
    });

    it('ends it by leaving the loop too', async () => {
      first.behave([{ does: 'answer', stall: { events: 2 } }]);
      const reply = await (await provider([one()])).send(call({ stream: true }));
      for await (const _piece of reply.body) break;
      expect((await first.requests[0]?.ended)?.whole).to.equal(false);
    });
  });

  describe('routes besides answers', () => {
    const text = '{ "x":12345678901234567890 , "input":"Ahoy!","model":"m-5.5" }';
    const asked = (task: ResponsesTask) => call({ route: 'responses', task, text });

    it('have an address of their own, and are sent unchanged', async () => {
      const able = await provider([one()]);
      for (const task of able.tasks ?? []) {
        const reply = await able.send(asked(task));
        expect(first.requests.at(-1)).to.include({ method: 'POST', path: `/v1/responses/${task}` });
        expect(first.requests.at(-1)?.bytes.toString()).to.equal(text.replace('m-5.5', MODEL));
        expect(await read(reply)).to.deep.equal(first.requests.at(-1)?.content?.bytes);
      }
      expect(able.tasks).to.deep.equal(['compact', 'input_tokens']);
    });

    it('go to an upstream that supports them, and are reported as unsupported otherwise', async () => {
      for (const status of [404, 405, 501]) {
        first.reset();
        first.behave(() => refusal(status, { message: 'Not Found' }));
        const two = await provider([one(), other({ weight: 0 })]);
        const reply = await two.send(asked('compact'));
        expect(JSON.parse((await read(reply)).toString()).object).to.equal('response.compaction');
        const alone = await provider([one()]);
        for (let count = 0; count < 11; count++) {
          const failure = await failureOf(alone.send(asked('compact')));
          expect([failure.code, failure.param], String(status)).to.deep.equal(['model_not_supported', 'model']);
        }
        expect(first.requests, 'nobody rests for it').to.have.length(12);
      }
    });

    it('report which part of the request does not exist', async () => {
      first.behave([
        refusal(404, { message: "Item with id 'rs_1' not found." }),
        refusal(404, { code: 'model_not_found' }),
      ]);
      const able = await provider([one()]);
      expect(await failureOf(able.send(asked('compact')))).to.include({ code: 'invalid_value' });
      expect(await failureOf(able.send(asked('compact')))).to.include({ code: 'upstream_error' });
    });
  });

  describe('a stored response', () => {
    const stored = (more: Partial<StoredResponseCall>): StoredResponseCall => ({
      action: 'retrieve',
      model: 'm-5.5',
      responseId: '',
      upstream: '',
      query: '',
      signal: new AbortController().signal,
      ...more,
    });

    it('is requested at its own upstream', async () => {
      const two = await provider([one(), other()]);
      const text = '{"model":"m-5.5","input":"one"}';
      const made = [];
      for (let count = 0; count < 2; count++) made.push(await two.send(call({ route: 'responses', text })));
      expect(new Set(made.map(({ upstream }) => upstream)).size).to.equal(2);
      for (const reply of made) {
        const { id } = JSON.parse((await read(reply)).toString());
        const about = { responseId: id, upstream: reply.upstream };
        const again = JSON.parse((await read((await two.stored?.(stored(about))) as TextReply)).toString());
        expect(again.id).to.equal(id);
        const items = (await two.stored?.(stored({ ...about, action: 'input_items', query: 'limit=1' }))) as TextReply;
        expect(JSON.parse((await read(items)).toString()).object).to.equal('list');
        // A conversation goes on where it began.
        const next = await two.send(call({ route: 'responses', text, upstream: reply.upstream }));
        expect(next.upstream).to.equal(reply.upstream);
        await read(next);
        await read((await two.stored?.(stored({ ...about, action: 'delete' }))) as TextReply);
        const gone = await failureOf(two.stored?.(stored(about)) ?? Promise.resolve());
        expect(gone.code).to.equal('response_not_found');
      }
      expect(first.requests.map(({ path }) => path)).to.include.members([
        '/v1/responses/resp_1781500001/input_items?limit=1',
      ]);
    });

    it('is resumed as a stream, also after its last event', async () => {
      const resuming = await provider([one()]);
      const made = await resuming.send(call({ route: 'responses', text: '{"model":"m-5.5","input":"one"}' }));
      const { id: responseId } = JSON.parse((await read(made)).toString());
      const about = { responseId, upstream: made.upstream };
      const rest = (after: number) =>
        resuming.stored?.(stored({ ...about, query: `stream=true&starting_after=${after}` })) as Promise<TextReply>;
      expect((await read(await rest(3))).toString()).to.match(/^event: .+\ndata: .+"sequence_number":4,/);
      expect(await read(await rest(999))).to.have.length(0);
      expect(first.requests).to.have.length(3);
      expect(resuming.upstreams?.()[0]).to.include({ failures: 0 });
    });

    it('blocks no answer if it cannot be read, nor does the count of tokens', async () => {
      let status = 500;
      const unable = await startOrigin(({ method, url }, response) => {
        const makes = method === 'POST' && !url?.endsWith('/input_tokens');
        const headers = { 'content-type': 'application/json', ...(status === 429 && { 'retry-after': '60' }) };
        response.writeHead(makes ? 200 : status, headers).end(makes ? '{"id":"resp_1"}' : '{}');
      });
      try {
        const able = await provider([{ url: `${unable.origin}/v1` }], {}, unable.origin);
        const answers = async () => (await read(await able.send(call()))).toString();
        const { upstream } = await able.send(call({ route: 'responses' }));
        const looks = [
          () => able.stored?.(stored({ responseId: 'resp_1', upstream })) ?? Promise.resolve(),
          () => able.send(call({ route: 'responses', task: 'input_tokens' })),
        ];
        for (const look of looks) {
          for (let count = 0; count < 4; count++) await failureOf(look());
          expect(await answers()).to.equal('{"id":"resp_1"}');
        }
        status = 429;
        for (const look of looks) await failureOf(look());
        expect(await answers()).to.equal('{"id":"resp_1"}');
      } finally {
        await unable.close();
      }
    });

    it('is not searched elsewhere', async () => {
      const two = await provider([one(), other()]);
      const elsewhere = stored({ responseId: 'resp_1', upstream: 'gone' });
      expect(await failureOf(two.stored?.(elsewhere) ?? Promise.resolve())).to.include({ code: 'response_not_found' });
      expect(await failureOf(two.send(call({ route: 'responses', upstream: 'gone' })))).to.include({
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      });
      expect([first.requests.length, second.requests.length]).to.deep.equal([0, 0]);
    });

    it('is distinguished by name if two upstreams share an address', async () => {
      const twice = { models: 'm-5.5', upstreams: [one(), one({ apiKey: 'another' })] };
      const gateway = await createGateway({ plugins: [{ use: openaiText, options: twice }] });
      gateways.push(gateway);
      expect(gateway.plugins()[0]?.reason).to.equal(
        'upstreams.1 has the same address as an earlier one and needs its own "name"',
      );
      const named = await provider([one({ name: 'a' }), one({ name: 'b' })]);
      const names = [];
      for (let count = 0; count < 2; count++) {
        const reply = await named.send(call());
        names.push(reply.upstream);
        await read(reply);
      }
      expect(names.sort()).to.deep.equal(['a', 'b']);
    });
  });
});
