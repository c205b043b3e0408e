/** JSON bodies of requests, and when two are equal. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { readJson } from '../../../server/http/bodies/body.js';
import { BodyBudget } from '../../../server/http/bodies/body-budget.js';
import { LINK, type ListeningApp, startApp } from './listening-app.js';

describe('request bodies', () => {
  let app: ListeningApp;
  let key: string;

  before(async () => {
    app = await startApp();
    key = await app.makeKey({ rpm: 5 });
  });
  after(() => app.close());

  const send = (body: BodyInit, headers: Record<string, string> = {}) =>
    app.request('/v1/extract', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body,
    });

  it('refuses everything but a JSON object', async () => {
    const nested = `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`;
    const bodies = [
      '',
      ' ',
      'null',
      '1',
      '"text"',
      '[]',
      '{',
      '{"url":}',
      "{'url':1}",
      '{"url":"a",}',
      'NaN',
      nested,
      '\u0000',
    ];
    for (const body of bodies) {
      const answer = await send(body);
      expect([answer.status, answer.json.error.code], body.slice(0, 40)).to.deep.equal([400, 'invalid_json']);
      expect(answer.json.error.message).not.to.contain(body.slice(1, 20) || 'nothing');
    }
    const notUtf8 = await send(Buffer.from('{"url":"\xff\xfe"}', 'latin1'));
    expect([notUtf8.status, notUtf8.json.error.code]).to.deep.equal([400, 'invalid_json']);
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    expect((await send(deep)).json.error.code).to.equal('invalid_json');
  });

  it('refuses wrong types, and names the field and the accepted type', async () => {
    const cases: [string, unknown, string, string][] = [
      ['url', undefined, 'missing_required_parameter', 'link'],
      ['url', null, 'missing_required_parameter', 'link'],
      ['url', 7, 'invalid_value', 'link'],
      ['url', ['https://invented.example/item/7'], 'invalid_value', 'link'],
      ['url', { href: LINK }, 'invalid_value', 'link'],
      ['clip_review_limit', 0, 'invalid_value', '1 to 100'],
      ['clip_review_limit', 101, 'invalid_value', '1 to 100'],
      ['clip_review_limit', 5.5, 'invalid_value', '1 to 100'],
      ['clip_review_limit', '10', 'invalid_value', '1 to 100'],
      ['clip_review_limit', true, 'invalid_value', '1 to 100'],
      ['clip_sort', 'newest', 'invalid_value', 'recommended'],
      ['clip_sort', 'LATEST', 'invalid_value', 'recommended'],
      ['include_empty_reviews', 'true', 'invalid_value', 'true or false'],
      ['include_audio_mp3', 1, 'invalid_value', 'true or false'],
      ['async_mode', 'false', 'invalid_value', 'true or false'],
      ['force_async', [], 'invalid_value', 'true or false'],
    ];
    for (const [param, value, code, accepted] of cases) {
      const answer = await app.extract(key, { url: LINK, [param]: value });
      expect([answer.status, answer.json.error.code, answer.json.error.param], `${param}: ${value}`).to.deep.equal([
        400,
        code,
        param,
      ]);
      expect(answer.json.error.message).to.contain(accepted);
    }
  });

  it('refuses unsupported links, and names the link', async () => {
    for (const [url, code] of [
      ['', 'invalid_url'],
      ['invented/item/7', 'invalid_url'],
      ['ftp://invented.example/item/7', 'invalid_url'],
      [`https://invented.example/item/${'7'.repeat(3000)}`, 'invalid_url'],
      ['https://other.example/item/7', 'unsupported_platform'],
      ['http://127.0.0.1/item/7', 'unsupported_platform'],
    ] as const) {
      const answer = await app.extract(key, { url });
      expect([answer.status, answer.json.error.code], url.slice(0, 60)).to.deep.equal([400, code]);
      expect(answer.json.error.param).to.equal('url');
      expect(answer.json.input_url).to.equal(url.length > 2048 ? undefined : url);
    }
  });

  it('takes no slot for a refused body', async () => {
    const answer = await app.extract(key, { url: LINK });
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('x-ratelimit-remaining-requests')).to.equal('4');
  });

  it('ignores unknown fields, __proto__ and constructor included', async () => {
    const free = await app.makeKey();
    const body = `{"url":"${LINK}","more":{"a":[1]},"__proto__":{"clip_sort":"x","url":"y"},"constructor":{"prototype":{"url":"z"}}}`;
    expect((await app.extract(free, body)).status).to.equal(200);
    const inherited = await app.extract(free, `{"__proto__":{"url":"${LINK}"}}`);
    expect(inherited.json.error.code).to.equal('missing_required_parameter');
    expect(({} as { url?: unknown }).url).to.equal(undefined);
  });

  it('treats null as absent in optional fields', async () => {
    const free = await app.makeKey();
    const nulls = { clip_review_limit: null, clip_sort: null, include_audio_mp3: null, async_mode: null };
    const answer = await app.extract(free, { url: LINK, ...nulls });
    expect([answer.status, answer.json.limitations]).to.deep.equal([200, []]);
  });

  it('refuses other media types, charsets and any content coding with 415', async () => {
    const body = JSON.stringify({ url: LINK });
    const refused: Record<string, string>[] = [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-type': 'application/jsonp' },
      { 'content-type': '' },
      { 'content-encoding': 'compress' },
    ];
    for (const headers of refused) {
      const answer = await send(body, headers);
      expect([answer.status, answer.json.error.code], JSON.stringify(headers)).to.deep.equal([
        415,
        'unsupported_media_type',
      ]);
    }
    expect((await send(gzipSync(body), { 'content-encoding': 'lzw' })).status).to.equal(415);
    const free = await app.makeKey();
    for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
      expect((await app.extract(free, body, { 'content-type': type })).status, type).to.equal(200);
    }
  });

  it('refuses bodies over 64 KiB, announced or not, with a reason that the client can read', async () => {
    const padding = (bytes: number) => JSON.stringify({ url: LINK, padding: 'x'.repeat(bytes) });
    const free = await app.makeKey();
    expect((await app.extract(free, padding(65_000))).status).to.equal(200);
    for (const bytes of [65_536, 200_000]) {
      const answer = await app.extract(free, padding(bytes));
      expect([answer.status, answer.json.error.code]).to.deep.equal([413, 'request_too_large']);
    }
    const chunk = `${(60_000).toString(16)}\r\n${'x'.repeat(60_000)}\r\n`;
    const head = `POST /v1/extract HTTP/1.1\r\nHost: a\r\nX-API-Key: ${free}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const answer = await app.raw(head + chunk.repeat(4));
    expect(answer)
      .to.match(/^HTTP\/1\.1 413 /)
      .and.to.contain('request_too_large');
  });

  it('reads chunked bodies', async () => {
    const free = await app.makeKey();
    const body = JSON.stringify({ url: LINK });
    const chunks = [...body].map((one) => `1\r\n${one}\r\n`).join('');
    const head = `POST /v1/extract HTTP/1.1\r\nHost: a\r\nX-API-Key: ${free}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(await app.raw(`${head}${chunks}0\r\n\r\n`)).to.match(/^HTTP\/1\.1 200 /);
  });
});

describe('identity of JSON bodies', () => {
  it('is computed only on routes that need it', async () => {
    const server = createServer(async (request, response) => {
      const limits = {
        maxBytes: 1024,
        budget: new BodyBudget(),
        owner: 'one',
        fingerprinted: request.url === '/keyed',
      };
      response.end(JSON.stringify(await readJson(request, response, limits)));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const send = async (path: string, body: string) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body })).json();
    };
    try {
      const keyed = await send('/keyed', '{"a":1,"b":2}');
      expect(keyed)
        .to.deep.include({ value: { a: 1, b: 2 } })
        .and.to.have.property('fingerprint')
        .that.matches(/^[0-9a-f]{64}$/);
      expect(await send('/keyed', '{ "b": 2, "a": 1 }')).to.deep.equal(keyed);
      expect(await send('/', '{"a":1,"b":2}')).to.deep.equal({ value: { a: 1, b: 2 }, fingerprint: '' });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
