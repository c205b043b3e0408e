/** Error answers over HTTP: codes, formats, header fields and log lines. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { ERRORS } from '../../../core/runtime/index.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { LINK, type ListeningApp, startApp } from './listening-app.js';

describe('errors over HTTP', () => {
  let app: ListeningApp;
  let key: string;
  let failure: unknown;

  before(async () => {
    app = await startApp({
      extractor: {
        extract: async ({ link }) => {
          if (failure) throw failure;
          return inventedExtraction(link.id);
        },
      },
    });
    key = await app.makeKey();
  });
  after(() => app.close());

  let item = 100;
  /** A link that no cache knows. */
  const fresh = () => {
    item += 1;
    return { url: `https://invented.example/item/${item}` };
  };

  it('has a status and a type for exactly the declared codes', () => {
    expect(Object.keys(ERRORS)).to.have.length.above(90);
    for (const [code, { status, type }] of Object.entries(ERRORS)) {
      expect(status, code).to.be.within(400, 504);
      expect(type, code).to.match(/^[a-z_]+$/);
    }
  });

  it('describes every declared code in the API description', async () => {
    const { json } = await app.request('/openapi.json');
    const codes = json.components.schemas.ErrorCode.anyOf.map(({ const: code }: { const: string }) => code);
    expect(codes).to.deep.equal(Object.keys(ERRORS).sort());
  });

  it('answers 404 and 405 in the common shape, the latter with Allow', async () => {
    const missing = await app.request('/v2/nothing?secret=1');
    expect(missing.status).to.equal(404);
    expect(missing.json.error).to.have.all.keys('message', 'type', 'param', 'code', 'request_id');
    expect(missing.json.error).to.include({ code: 'route_not_found', type: 'not_found_error', param: null });
    expect(missing.text).not.to.contain('secret');
    for (const [target, words] of [
      ['/chat/completions', 'There is POST /v1/chat/completions'],
      ['/images/generations', 'There is POST /v1/images/generations'],
      ['/v1/images/variations', 'POST /v1/images/edits'],
    ] as const) {
      const elsewhere = await app.request(target, { method: 'POST' });
      expect([elsewhere.status, elsewhere.json.error.message]).to.satisfy(
        ([status, message]: [number, string]) => status === 404 && message.includes(words),
        target,
      );
    }
    for (const [method, target, allow] of [
      ['GET', '/v1/extract', 'POST'],
      ['DELETE', '/v1/extract', 'POST'],
      ['OPTIONS', '/v1/extract', 'POST'],
      ['POST', '/health', 'GET, HEAD'],
      ['PUT', '/v1/capabilities', 'GET, HEAD'],
    ] as const) {
      const answer = await app.request(target, { method });
      expect([answer.status, answer.json.error.code], `${method} ${target}`).to.deep.equal([405, 'method_not_allowed']);
      expect(answer.headers.get('allow')).to.equal(allow);
    }
    for (const [method, target] of [
      ['GET', '/v1/extract'],
      ['PUT', '/v1/capabilities'],
      ['GET', '/v1/extract/nothing'],
    ] as const) {
      expect((await app.request(target, { method })).json.ok, `${method} ${target}`).to.equal(false);
    }
    expect((await app.request('/v1/extractor')).json).not.to.have.property('ok');
    expect((await app.request('/V1/Extract', { method: 'POST' })).status).to.equal(404);
    expect((await app.request('/v1/extract/', { method: 'POST' })).status).to.equal(404);
  });

  it('answers HEAD like GET without a body', async () => {
    for (const target of ['/health', '/health/live', '/nothing']) {
      const { status, text, headers } = await app.request(target, { method: 'HEAD' });
      const get = await app.request(target);
      expect([status, text, headers.get('content-type')], target).to.deep.equal([
        get.status,
        '',
        get.headers.get('content-type'),
      ]);
    }
  });

  it('puts security headers and a request id on every answer', async () => {
    for (const target of ['/health', '/nothing', '/v1/capabilities']) {
      const { headers } = await app.request(target);
      expect(Object.fromEntries(headers))
        .to.include({
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
          'cache-control': 'no-store',
        })
        .and.not.to.have.property('access-control-allow-origin');
      expect(headers.get('content-security-policy')).to.contain("default-src 'none'");
      expect(headers.get('x-request-id')).to.match(/^req_[A-Za-z0-9_-]{16}$/);
    }
  });

  it('keeps a valid request id and replaces any other', async () => {
    const ask = async (id: string) =>
      (await app.request('/nothing', { headers: { 'x-request-id': id } })).json.error.request_id;
    expect(await ask('my-own.id_1')).to.equal('my-own.id_1');
    for (const bad of ['with space', 'x'.repeat(65), '"quoted"', '<b>']) expect(await ask(bad)).to.match(/^req_/);
    const ids = new Set(
      await Promise.all(
        Array.from({ length: 500 }, async () => (await app.request('/health')).headers.get('x-request-id')),
      ),
    );
    expect(ids.size).to.equal(500);
  });

  it("states the platform's reason for an unavailable link, and whether to retry", async () => {
    failure = new GatewayError('private', 'The item is private.', {
      reason: 'Sign in to see this',
      attempts: [{ method: 'page', outcome: 'private', ms: 12 }],
    });
    const { url } = fresh();
    const answer = await app.extract(key, { url });
    expect(answer.status).to.equal(422);
    expect(answer.json).to.deep.equal({
      ok: false,
      error: {
        message: 'The item is private.',
        type: 'extraction_failed',
        param: null,
        code: 'private',
        request_id: answer.headers.get('x-request-id'),
        reason: 'Sign in to see this',
        retryable: false,
        attempts: [{ method: 'page', outcome: 'private', ms: 12 }],
      },
      platform: 'invented',
      input_url: url,
    });
  });

  it('maps failures of the source to 502 and 504, with Retry-After if known', async () => {
    failure = new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: 7.2 });
    const limited = await app.extract(key, fresh());
    expect([limited.status, limited.json.error.type, limited.json.error.retryable]).to.deep.equal([
      502,
      'source_failed',
      true,
    ]);
    expect(limited.headers.get('retry-after')).to.equal('8');
    failure = new GatewayError('upstream_timeout', 'No answer.');
    const late = await app.extract(key, fresh());
    expect([late.status, late.json.error.type]).to.deep.equal([504, 'source_timeout']);
    expect(late.headers.get('retry-after')).to.equal(null);
  });

  it('hides errors of a plugin', async () => {
    failure = new Error('password=hunter2 in /etc/secret');
    const answer = await app.extract(key, fresh());
    expect([answer.status, answer.json.error.code]).to.deep.equal([502, 'upstream_changed']);
    expect(answer.text).not.to.contain('hunter2');
  });

  it('reports an unknown error code as a failure of the gateway, and logs it', async () => {
    const { platforms } = app.gateway;
    try {
      for (const code of ['teapot', 'constructor', undefined]) {
        const logged = app.log.length;
        app.gateway.platforms = () => {
          throw new GatewayError(code as 'private', 'No.');
        };
        const answer = await app.request('/v1/capabilities', { headers: { authorization: `Bearer ${key}` } });
        expect([answer.status, answer.json?.error?.code], code).to.deep.equal([500, 'internal_error']);
        const line = app.log.slice(logged).find(({ level }) => level === 'error');
        expect(line?.fields, code).to.include({ code: 'internal_error' });
        expect(line?.fields.error, code).to.be.an('error').with.property('message', 'No.');
      }
    } finally {
      app.gateway.platforms = platforms;
    }
  });

  it('answers in RFC 9457 if the client asks for it', async () => {
    failure = new GatewayError('removed', 'The item was removed.');
    const accept = { accept: 'application/problem+json' };
    const { url } = fresh();
    const answer = await app.extract(key, { url }, accept);
    expect(answer.headers.get('content-type')).to.equal('application/problem+json');
    expect(answer.json).to.deep.equal({
      type: 'about:blank',
      title: 'Unprocessable Entity',
      status: 422,
      detail: 'The item was removed.',
      instance: '/v1/extract',
      code: 'removed',
      param: null,
      request_id: answer.headers.get('x-request-id'),
      platform: 'invented',
      input_url: url,
      retryable: false,
    });
    const plain = await app.request('/nothing', {
      headers: { accept: 'application/json, application/problem+json;q=0' },
    });
    expect(plain.headers.get('content-type')).to.contain('application/json');
    expect((await app.request('/nothing', { headers: { accept: 'text/html' } })).json.error.code).to.equal(
      'route_not_found',
    );
  });

  it('logs a request as names and numbers, without key, link or query', async () => {
    failure = undefined;
    const answer = await app.extract(key, { url: `${LINK}?canary=1` });
    expect(answer.status).to.equal(200);
    const id = answer.headers.get('x-request-id');
    const line = app.log.find(({ fields }) => fields.requestId === id && fields.route !== undefined);
    expect(line?.fields).to.include({ method: 'POST', route: '/v1/extract', status: 200, keyId: key.slice(6, 14) });
    expect(JSON.stringify(app.log)).not.to.contain('canary').and.not.to.contain(key);
  });
});
