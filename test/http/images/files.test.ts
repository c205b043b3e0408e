/** Image files over HTTP: caching, ranges, expiry and damage. */

import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { systemClock } from 'mediagate';
import { createRedaction, describeError } from '../../../core/observability/logger.js';
import { damageFiles } from '../../support/audio/damaged-files.js';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

describeOnStacks('image files', (stack) => {
  let app: ListeningApp;
  let path: string;
  let whole: Buffer;
  let now: number;

  before(async () => {
    now = Date.now();
    const clock = { ...systemClock, now: () => now };
    app = await startImageApp({ stack, clock, images: { fileMs: 3_600_000 } });
    const client = imageClient(app, await app.makeKey({ grants: ['images'] }));
    const { json } = await client.generate({ ...PROMPT, size: '64x64' });
    path = new URL(json.data[0].url).pathname;
    whole = (await get(path)).body;
  });
  after(() => app.close());

  /** Without `fetch`, which adds header fields and tidies paths. */
  function get(target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> {
    return new Promise((resolve, reject) => {
      httpRequest({ port: app.port, path: target, headers, method, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      })
        .on('error', reject)
        .end();
    });
  }

  it('are public and cacheable, and cannot run scripts', async () => {
    const { status, headers } = await get(path);
    expect(status).to.equal(200);
    expect(headers).to.include({
      'content-type': 'image/png',
      'content-length': String(whole.length),
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      'content-disposition': `inline; filename="${path.split('/').at(-1)}"`,
    });
    expect(headers['cache-control']).to.match(/^public, max-age=\d{4}, immutable$/);
    expect(headers.etag).to.match(/^"[0-9a-f]{64}"$/);
    expect(headers['last-modified']).to.equal(new Date(now).toUTCString());
  });

  it('answer HEAD, ranges and conditions', async () => {
    const { etag = '' } = (await get(path)).headers as { etag?: string };
    const head = await get(path, {}, 'HEAD');
    expect([head.status, head.headers['content-length'], head.body.length]).to.deep.equal([
      200,
      String(whole.length),
      0,
    ]);
    const part = await get(path, { range: 'bytes=8-15' });
    expect([part.status, part.headers['content-range']]).to.deep.equal([206, `bytes 8-15/${whole.length}`]);
    expect(part.body).to.deep.equal(whole.subarray(8, 16));
    const tail = await get(path, { range: 'bytes=-4', 'if-range': etag });
    expect([tail.status, tail.body]).to.deep.equal([206, whole.subarray(-4)]);
    expect((await get(path, { range: 'bytes=0-1', 'if-range': '"other"' })).status).to.equal(200);
    const outside = await get(path, { range: `bytes=${whole.length}-` });
    expect(outside.status).to.equal(416);
    expect(outside.headers).to.include({
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Accept-Ranges, Content-Length, Content-Range, ETag',
      'content-range': `bytes */${whole.length}`,
      'cross-origin-resource-policy': 'cross-origin',
    });
    expect((await get(path, { 'if-none-match': etag })).status).to.equal(304);
    // As `fetch` asks, which speaks to the caches on the way.
    expect((await get(path, { 'if-none-match': etag, 'cache-control': 'no-cache' })).status).to.equal(304);
    expect((await get(path, { 'if-modified-since': new Date(now).toUTCString() })).status).to.equal(304);
  });

  it('are found only by name', async () => {
    const name = path.split('/').at(-1) ?? '';
    const stem = name.slice(4, -4);
    for (const other of [
      `img_${'0'.repeat(48)}.png`,
      name.toUpperCase(),
      name.replace('.png', '.jpg'),
      name.replace('.png', ''),
      name.replace('.png', '.svg'),
      `img_${stem}_raw.png`,
      `img_${stem.slice(0, -1)}.png`,
      `${name}%00`,
      `..%2f${name}`,
      `..%2f..%2fmediagate.db`,
      `inline_${stem}.png`,
      `${name}/`,
      '',
    ]) {
      const { status, body } = await get(`/v1/images/files/${other}`);
      expect(status, other).to.equal(404);
      expect(JSON.parse(body.toString()).error.code, other).to.be.oneOf(['file_not_found', 'route_not_found']);
    }
    expect((await get('/v1/images/files/%')).status).to.be.oneOf([400, 404]);
    expect((await get(path, {}, 'POST')).status).to.equal(405);
  });

  it('expire, and then answer 410 instead of 404', async () => {
    const before = now;
    now += 3 * 3_600_000;
    try {
      const { status, body } = await get(path);
      expect([status, JSON.parse(body.toString()).error.code]).to.deep.equal([410, 'file_expired']);
      expect((await get(`/v1/images/files/img_${'0'.repeat(48)}.png`)).status).to.equal(404);
    } finally {
      now = before;
    }
  });
});

describeOnStacks('damaged image files', (stack) => {
  let app: ListeningApp;
  let place: StackPlace;
  let client: ImageClient;
  let path: string;

  // Of its own: all files that it has are damaged.
  before(async () => {
    place = await stack.place();
    app = await startImageApp({ stack: { ...stack, place: async () => place } });
    client = imageClient(app, await app.makeKey({ grants: ['images'] }));
    const { json } = await client.generate({ ...PROMPT, size: '64x64' });
    path = new URL(json.data[0].url).pathname;
  });
  after(() => app.close());

  it('are never returned as a complete image', async () => {
    const { json } = await client.submit({ ...PROMPT, size: '64x64', response_format: 'b64_json' });
    await client.ended(json.id);
    const { filesUrl } = place.settings;
    expect(await damageFiles({ dataDir: app.dataDir, filesUrl }, '.png', 'flipped')).to.equal(2);
    const whole = [() => app.request(path), () => client.poll(json.id)];
    const parts = [
      () => app.request(path, { headers: { range: 'bytes=0-9' } }),
      () => app.request(path, { method: 'HEAD' }),
    ];
    // What is wrong with an object is known once all of it has come.
    for (const ask of filesUrl ? whole : [...whole, ...parts]) {
      const outcome = await ask().then(
        ({ status, json: body, headers }) => [status, body?.error.code, headers.get('etag')],
        () => 'cut off',
      );
      if (filesUrl) expect(outcome).to.equal('cut off');
      else expect(outcome).to.deep.equal([500, ask === parts[1] ? undefined : 'storage_error', null]);
    }
    const told = app.log.map(({ fields }) => JSON.stringify(describeError(fields.error, createRedaction([]))));
    expect(told.filter((line) => line.includes(path.split('/').at(-1) ?? ''))).not.to.deep.equal([]);
  });
});
