/** Checks of an upstream's key, address, format and list of models. */

import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { type CheckedUpstream, createGateway, type Gateway } from 'mediagate';
import openaiText from 'mediagate/plugins/openai_text';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { rejection } from '../../support/rejection.js';

const KEY = 'sk-canary-of-the-upstream-0003';

describe('checks of an upstream', () => {
  const opened: (Gateway | OriginServer)[] = [];
  let requests: string[] = [];

  beforeEach(() => {
    requests = [];
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });

  /** The checks of a gateway whose upstream answers so. */
  async function check(
    answer: RequestListener,
    {
      path = '/v1',
      apiKey = KEY,
      models = ['vendor-model'],
    }: { path?: string; apiKey?: string; models?: string[] } = {},
  ): Promise<readonly CheckedUpstream[]> {
    const origin = await startOrigin((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      answer(request, response);
    });
    opened.push(origin);
    return (await open(`${origin.origin}${path}`, apiKey, models)).checkUpstreams();
  }

  async function open(url: string, apiKey: string | undefined, models: readonly string[]): Promise<Gateway> {
    const upstreams = [{ url, ...(apiKey !== undefined && { apiKey }) }];
    const names = models.map((model, index) => ({ id: `m-${index}`, model }));
    const ofOptions = { 'upstreams.0.url': 'TEXT_UPSTREAM_URL', 'upstreams.0.apiKey': 'TEXT_UPSTREAM_KEY' };
    const gateway = await createGateway({
      plugins: [{ use: openaiText, options: { models: names, upstreams }, variables: { names: [], ofOptions } }],
    });
    opened.push(gateway);
    return gateway;
  }

  const json =
    (status: number, body: unknown): RequestListener =>
    (_request, response) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const listing = (...names: string[]) => json(200, { object: 'list', data: names.map((id) => ({ id })) });

  it('finds an upstream that lists its models', async () => {
    expect(await check(listing('vendor-model', 'other:latest'), { models: ['vendor-model', 'other'] })).to.deep.equal([
      { entry: 'openai_text', upstream: 'upstreams.0', models: ['m-0', 'm-1'], result: 'reachable' },
    ]);
    expect(requests).to.deep.equal(['GET /v1/models']);
  });

  it('names missing models, and the listed ones', async () => {
    const [there, missing] = await check(listing('a', 'vendor-model', 'b\u001b[31m'), {
      models: ['vendor-model', 'gone'],
    });
    expect(there).to.include({ result: 'reachable' }).and.to.have.deep.property('models', ['m-0']);
    expect(missing).to.deep.equal({
      entry: 'openai_text',
      upstream: 'upstreams.0',
      models: ['m-1'],
      result: 'unknown_model',
      option: 'upstreams.0.model',
      setting: 'option upstreams.0.model of the entry openai_text',
      reason: 'It does not list gone. It lists a, vendor-model and 1 more.',
    });
  });

  it('accepts any name for the one model of a llama.cpp server', async () => {
    const data = [{ id: '/models/qwen3.gguf', object: 'model', owned_by: 'llamacpp' }];
    expect(await check(json(200, { object: 'list', models: [], data }))).to.have.nested.property(
      '0.result',
      'reachable',
    );
  });

  it('finds a refused key, and a missing one', async () => {
    const error = { error: { message: `Incorrect API key provided: ${KEY}.`, code: 'invalid_api_key' } };
    expect((await check(json(401, error)))[0]).to.deep.include({
      result: 'refused_key',
      setting: 'TEXT_UPSTREAM_KEY',
      reason: 'It refused the key with status 401.',
    });
    const origin = await startOrigin(json(401, error));
    opened.push(origin);
    const [keyless] = await (await open(`${origin.origin}/v1`, undefined, ['a'])).checkUpstreams();
    expect(keyless).to.include({ result: 'refused_key', reason: 'It answered with status 401: it needs a key.' });
  });

  it('finds that the address lacks /v1', async () => {
    const answer: RequestListener = (request, response) =>
      request.url === '/v1/models'
        ? listing('vendor-model')(request, response)
        : void response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found');
    expect((await check(answer, { path: '' }))[0]).to.deep.include({
      result: 'wrong_format',
      setting: 'TEXT_UPSTREAM_URL',
      remedy: 'Put /v1 at its end.',
    });
    expect(requests).to.deep.equal(['GET /models', 'GET /v1/models']);
  });

  it('asks a server without a list of models for a chat without a model', async () => {
    const answer: RequestListener = (request, response) =>
      json(request.method === 'POST' ? 400 : 404, { error: { message: 'No.' } })(request, response);
    expect((await check(answer))[0]).to.include({
      result: 'reachable',
      reason: 'The models were not checked, since it has no list of them.',
    });
    expect(requests).to.deep.equal(['GET /v1/models', 'POST /v1/chat/completions']);
  });

  for (const [name, status, contentType, body, reason] of [
    ['a page', 200, 'text/html', '<!doctype html>', 'It answered with an HTML page.'],
    [
      'other JSON',
      200,
      'application/json',
      '{"error":"Unexpected endpoint"}',
      'It answered with something else than a list of models.',
    ],
    ['a redirect', 301, 'text/plain', '', 'It answered with a redirect (status 301), which is not followed.'],
    ['404 to everything', 404, 'text/plain', 'no', 'It answered with status 404.'],
  ] as const) {
    it(`finds that ${name} is not this format`, async () => {
      const [found] = await check(
        (_request, response) => void response.writeHead(status, { 'content-type': contentType }).end(body),
      );
      expect(found).to.include({ result: 'wrong_format', reason, setting: 'TEXT_UPSTREAM_URL' });
    });
  }

  it('explains a failure without secrets', async () => {
    const words = `Loading model ${KEY}`;
    const [loading] = await check(json(503, { error: { code: 503, message: words, type: 'unavailable_error' } }));
    expect(loading).to.include({
      result: 'unreachable',
      reason: 'It answered with status 503: Loading model [redacted].',
      setting: 'TEXT_UPSTREAM_URL',
    });
    const closed = await startOrigin(() => {});
    await closed.close();
    const [refused] = await (await open(`${closed.origin}/v1`, KEY, ['a'])).checkUpstreams();
    expect(refused).to.include({ result: 'unreachable', reason: 'The server could not be reached (ECONNREFUSED).' });
  });

  it('ends when its caller leaves, and when the gateway closes', async () => {
    const silent = await startOrigin(() => {});
    opened.push(silent);
    const gateway = await open(`${silent.origin}/v1`, KEY, ['a']);
    const leaving = new AbortController();
    const left = gateway.checkUpstreams(leaving.signal);
    leaving.abort(new Error('left'));
    expect(await rejection(left)).to.have.property('message', 'left');
    const checking = gateway.checkUpstreams();
    await gateway.close();
    expect(await checking).to.deep.equal([]);
    await silent.idle();
  });
});
