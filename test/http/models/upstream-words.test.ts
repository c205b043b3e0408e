/** Messages of a model vendor, without its names. */

import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import { startTextUpstream, type TextUpstream, type TextUpstreamAnswer } from '../../support/models/text-upstream.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { CHAT, post } from './text-app.js';

const KEY = 'sk-upstream-0123456789';
const QUESTION = { model: 'm-5.5', input: 'Hi' };
const MESSAGE = { ...CHAT, max_tokens: 9 };
const ROUTES = [
  ['/v1/chat/completions', CHAT],
  ['/v1/responses', QUESTION],
  ['/v1/messages', MESSAGE],
] as const;

type Refusal = Omit<Extract<TextUpstreamAnswer, { does: 'error' }>, 'does'>;

interface Expected {
  refusal: Refusal;
  /** Default: that of the refusal. */
  status?: number;
  code: string;
  gatewayCode: string;
  message?: string;
}

const CASES: readonly Expected[] = [
  {
    refusal: { status: 409, code: 'conversation_locked' },
    code: 'conversation_locked',
    gatewayCode: 'upstream_conflict',
  },
  { refusal: { status: 413, code: 'too_much' }, code: 'too_much', gatewayCode: 'context_length_exceeded' },
  { refusal: { status: 422, code: 'unprocessable' }, code: 'unprocessable', gatewayCode: 'invalid_value' },
  { refusal: { status: 422 }, code: 'invalid_value', gatewayCode: 'invalid_value' },
  {
    refusal: { status: 422, text: '{"detail":[{"loc":["body","top_k"],"msg":"Input should be above 0"}]}' },
    code: 'invalid_value',
    gatewayCode: 'invalid_value',
    message: 'Input should be above 0',
  },
  {
    refusal: { status: 400, code: 'invalid_encrypted_content' },
    code: 'invalid_encrypted_content',
    gatewayCode: 'invalid_value',
  },
  {
    refusal: { status: 400, code: 'content_policy_violation' },
    code: 'content_policy_violation',
    gatewayCode: 'content_filter',
  },
  {
    refusal: { status: 403, code: 'content_policy_violation' },
    status: 400,
    code: 'content_policy_violation',
    gatewayCode: 'content_filter',
  },
  {
    refusal: { status: 429, code: 'tokens_per_minute', headers: { 'retry-after': '9' } },
    code: 'tokens_per_minute',
    gatewayCode: 'upstream_rate_limited',
  },
];

describe('messages of a model vendor', () => {
  let upstream: TextUpstream;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    upstream = await startTextUpstream();
    // Each case has a model of its own, since a rate limit concerns later requests.
    const plugins = Array.from({ length: CASES.length * ROUTES.length * 2 + 4 }, (_, index) => ({
      id: `text_${index}`,
      use: openaiText,
      options: {
        models: `m-${index}`,
        upstreams: [{ url: upstream.baseUrl, model: 'vendor/secret-name', apiKey: KEY }],
      },
      timeoutMs: 60_000,
    }));
    app = await startApp({ messages: true, gateway: { plugins, services: { http: undefined } } });
    key = await app.makeKey({ grants: ['text'] });
  });
  after(async () => {
    await app.close();
    await upstream.close();
  });

  let used = 0;
  async function ask(refusal: Refusal, path: string, body: object) {
    upstream.reset();
    upstream.behave(() => ({ does: 'error', ...refusal }));
    return post(app, path, key, { ...body, model: `m-${used++}` });
  }

  it('reach clients of all formats, whole and streamed, beside the code of the gateway', async () => {
    for (const { refusal, status = refusal.status, code, gatewayCode, message = 'You may not.' } of CASES) {
      for (const [path, body] of ROUTES) {
        for (const stream of [false, true]) {
          const answer = await ask({ message: 'You may not.', ...refusal }, path, { ...body, stream });
          const where = `${path} ${JSON.stringify(refusal)} ${answer.text}`;
          expect(answer.status, where).to.equal(status);
          expect(answer.json.error, where).to.include({ code, gateway_code: gatewayCode, message });
          const isFinal = refusal.status === 409;
          expect(answer.headers.get('x-should-retry'), where).to.equal(isFinal ? 'false' : null);
          expect(answer.headers.get('retry-after'), where).to.equal(status === 429 ? '9' : null);
          expect(upstream.requests, where).to.have.length(1);
        }
      }
    }
  });

  it('hide keys, addresses and names of the upstream', async () => {
    const { host } = new URL(upstream.baseUrl);
    const message =
      `vendor/secret-name at ${host} for ${KEY} of http://user:pass@proxy.example/x,\n 10.1.2.3:8080, 192.168.7.9, ` +
      'gpu-7.cluster.local, [fd12:3456::7]:80 and org-0123456789 has no room';
    const { json, text } = await ask(
      { status: 429, code: KEY, message, headers: { 'retry-after': '9' } },
      ...ROUTES[0],
    );
    expect(json.error.message).to.match(/^m-\d+ at … for … of … …, …, …, … and … has no room$/);
    expect(json.error).to.include({ code: 'upstream_rate_limited', gateway_code: 'upstream_rate_limited' });
    expect(text).not.to.match(/secret|127\.0|user|10\.1|192\.168|gpu-7|fd12/);
    const long = await ask({ status: 422, message: `${'x'.repeat(990)}${KEY}` }, ...ROUTES[0]);
    expect(long.text, 'cut in the middle of the key').not.to.include(KEY.slice(0, 8));
    const log = JSON.stringify(app.log);
    expect(log).not.to.include('has no room');
    expect(log).not.to.include(KEY);
  });

  it("are hidden for faults of the upstream and of the operator's account", async () => {
    for (const refusal of [{ status: 401 }, { status: 500, headers: { 'x-should-retry': 'false' } }]) {
      const { json } = await ask({ code: 'of_the_vendor', message: 'Words.', ...refusal }, ...ROUTES[0]);
      expect(json.error).not.to.have.property('gateway_code');
      expect(JSON.stringify(json)).not.to.match(/of_the_vendor|Words/);
    }
  });
});
