/** The blocking image route: answers, failures, disconnected clients. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom, inventedImage } from '../../support/images/invented-image.js';
import { onceIt } from '../../support/runner/variants.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

describeOnStacks('the blocking image call', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let client: ImageClient;
  let darkroom: ReturnType<typeof createDarkroom>;

  beforeEach(async () => {
    darkroom = createDarkroom();
    app = await startImageApp({ stack, generate: darkroom.generate, images: { workers: 1 } });
    client = imageClient(app, await app.makeKey({ grants: ['images'] }));
  });
  afterEach(() => app.close());

  it("answers with a public link to the image and the vendor's usage", async () => {
    const answer = client.generate();
    await darkroom.develop();
    const { status, json } = await answer;
    expect(status).to.equal(200);
    expect(Object.keys(json)).to.deep.equal(['created', 'data', 'requested', 'succeeded', 'failed', 'usage']);
    expect(json.created).to.be.closeTo(Date.now() / 1000, 60);
    expect(json).to.include({ requested: 1, succeeded: 1, failed: 0 });
    const [{ url, raw_url, filename, source }, ...others] = json.data;
    expect(others).to.deep.equal([]);
    expect(Object.keys(json.data[0])).to.deep.equal(['url', 'raw_url', 'filename', 'source']);
    expect([url, raw_url, source]).to.deep.equal([`${app.url}/v1/images/files/${filename}`, url, stack.fileSource]);
    expect(json.usage).to.deep.equal({ input_tokens: 21, output_tokens: 1056, total_tokens: 1077 });
    expect((await fetch(url)).status).to.equal(200);
  });

  once('separates text tokens from image tokens if the vendor does', async () => {
    const answer = client.generate();
    await darkroom.asked(1);
    const picture = await inventedImage(darkroom.calls[0] as never);
    const counts = { inputTokens: 344, outputTokens: 1056, totalTokens: 1400, cachedTokens: 0 };
    const details = { inputTextTokens: 21, inputImageTokens: 323, outputTextTokens: 0, outputImageTokens: 1056 };
    await darkroom.develop({ ...picture, usage: { ...counts, ...details } });
    expect((await answer).json.usage).to.deep.equal({
      input_tokens: 344,
      output_tokens: 1056,
      total_tokens: 1400,
      input_tokens_details: { text_tokens: 21, image_tokens: 323, cached_tokens: 0 },
      output_tokens_details: { text_tokens: 0, image_tokens: 1056 },
    });
  });

  once('answers in base64 if requested', async () => {
    const answer = client.generate({ ...PROMPT, response_format: 'b64_json', output_format: 'webp' });
    await darkroom.develop();
    const { json } = await answer;
    expect(Object.keys(json.data[0])).to.deep.equal(['b64_json', 'filename', 'source', 'mime_type']);
    expect(json.data[0]).to.include({ source: 'inline', mime_type: 'image/webp' });
    expect(json.data[0].filename).to.match(/^img_[0-9a-f]{32}\.webp$/);
    const { bytes } = await inventedImage(darkroom.calls[0] as never);
    expect(Buffer.from(json.data[0].b64_json, 'base64')).to.deep.equal(bytes);
  });

  once('returns a failure with its status, the counts and the job', async () => {
    for (const [code, expected] of [
      ['moderation_blocked', 400],
      ['invalid_image', 400],
      ['upstream_error', 502],
      ['upstream_timeout', 504],
      ['upstream_unavailable', 503],
    ] as const) {
      const answer = client.generate();
      await darkroom.develop(new GatewayError(code, 'It failed.', { reason: 'because' }));
      const { status, json, headers } = await answer;
      expect([status, json.error.code, json.error.reason]).to.deep.equal([expected, code, 'because']);
      expect(json).to.include({ requested: 1, succeeded: 0, failed: 1 });
      expect(headers.get('x-should-retry')).to.equal('false');
      expect((await client.poll(json.error.job_id)).json.status).to.equal('failed');
    }
  });

  once('ends when its job is cancelled, which counts as neither success nor failure', async () => {
    const keyed = { 'idempotency-key': 'cancelled' };
    const { json: job } = await client.generate(PROMPT, { ...keyed, prefer: 'respond-async' });
    await client.cancel(job.id);
    const { status, json, headers } = await client.generate(PROMPT, keyed);
    expect([status, json.error.code, headers.get('x-should-retry')]).to.deep.equal([409, 'cancelled', 'false']);
    expect(json).to.include({ requested: 1, succeeded: 0, failed: 0 });
  });

  once('turns into a job for a client that prefers that', async () => {
    const { status, json, headers } = await client.generate(PROMPT, { prefer: 'respond-async' });
    expect([status, json.status, headers.get('location')]).to.deep.equal([202, 'queued', json.status_url]);
    expect(headers.get('preference-applied')).to.equal('respond-async');
    expect(Object.keys(json)).to.have.length(8);
    await darkroom.asked(1);
    const late = await client.generate(PROMPT, { prefer: 'respond-async, wait=1' });
    expect([late.status, late.headers.get('preference-applied')]).to.deep.equal([202, 'wait=1']);
    await darkroom.develop();
    await darkroom.develop();
    expect((await client.ended(late.json.id)).json.status).to.equal('completed');
    const quick = client.generate(PROMPT, { prefer: 'wait=20' });
    await darkroom.develop();
    expect((await quick).status).to.equal(200);
  });

  once('cancels the job if the client leaves while it is queued', async () => {
    await client.submit();
    await darkroom.asked(1);
    const leaving = new AbortController();
    const left = client.generate(PROMPT, {}, leaving.signal).catch(() => 'left');
    while ((await app.state.jobs.active('image')) < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.abort();
    expect(await left).to.equal('left');
    while ((await app.state.jobs.active('image')) > 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await darkroom.develop();
    expect(darkroom.calls).to.have.length(1);
  });

  once('finishes an image whose client disconnects, and keeps it for a retry', async () => {
    const leaving = new AbortController();
    const left = client.generate(PROMPT, {}, leaving.signal).catch(() => 'left');
    await darkroom.asked(1);
    leaving.abort();
    expect(await left).to.equal('left');
    const retry = client.generate(PROMPT, { 'x-stainless-retry-count': '1' });
    await darkroom.develop();
    expect((await retry).status).to.equal(200);
    expect(darkroom.calls).to.have.length(1);
  });

  once('cancels a queued job when its last client disconnects, and never one with an idempotency key', async () => {
    await client.submit();
    await darkroom.asked(1);
    const leaving = new AbortController();
    const first = client.generate(PROMPT, {}, leaving.signal).catch(() => 'left');
    const keyed = { 'idempotency-key': 'kept' };
    const third = client.generate(PROMPT, keyed, leaving.signal).catch(() => 'left');
    while ((await app.state.jobs.active('image')) < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    const second = client.generate(PROMPT, { 'x-stainless-retry-count': '1' });
    // Long enough for it to have joined; where it has not, it makes a job of its own and is answered all the same.
    await new Promise((resolve) => setTimeout(resolve, 100));
    leaving.abort();
    expect([await first, await third]).to.deep.equal(['left', 'left']);
    for (let count = 0; count < 3; count += 1) await darkroom.develop();
    expect((await second).status).to.equal(200);
    expect((await client.generate(PROMPT, keyed)).headers.get('idempotency-replayed')).to.equal('true');
  });
});
