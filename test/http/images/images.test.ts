/** Image jobs over HTTP: submit, poll, wait, cancel, and the queue. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import sharp from 'sharp';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom, inventedImage } from '../../support/images/invented-image.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { isLongRun, onceIt } from '../../support/runner/variants.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

const EIGHT = ['id', 'status', 'status_url', 'poll_after_seconds', 'requested', 'succeeded', 'failed', 'pending'];

describeOnStacks('image jobs over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let client: ImageClient;
  let darkroom: ReturnType<typeof createDarkroom>;

  beforeEach(async () => {
    darkroom = createDarkroom();
    app = await startImageApp({ stack, generate: darkroom.generate, images: { workers: 2 } });
    client = imageClient(app, await app.makeKey({ grants: ['images'] }));
  });
  afterEach(() => app.close());

  once('answer 202 with exactly eight fields, the status URL and Retry-After', async () => {
    const { status, headers, json } = await client.submit();
    expect(status).to.equal(202);
    expect(Object.keys(json)).to.deep.equal(EIGHT);
    expect(json.id).to.match(/^imgjob_[0-9a-f]{32}$/);
    expect(json).to.deep.equal({
      id: json.id,
      status: 'queued',
      status_url: `/v1/images/jobs/${json.id}`,
      poll_after_seconds: 5,
      requested: 1,
      succeeded: 0,
      failed: 0,
      pending: 1,
    });
    expect(Object.fromEntries(headers))
      .to.include({ location: json.status_url, 'retry-after': '5' })
      .and.not.to.have.property('idempotency-replayed');
  });

  it('count against the day of an account, and are refunded if they fail', async () => {
    const strict = await startImageApp({
      stack,
      generate: darkroom.generate,
      images: { workers: 1 },
      imageDailyLimit: 2,
    });
    try {
      const one = imageClient(strict, await strict.makeKey({ grants: ['images'] }));
      const [, queued] = [await one.submit(), await one.submit()];
      const refused = await one.submit();
      expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'daily_image_limit_reached']);
      expect(refused.headers.get('x-should-retry')).to.equal('false');
      expect(refused.headers.get('retry-after')).to.equal(null);
      expect(Number(refused.headers.get('x-ratelimit-reset-images'))).to.be.within(1, 86_400);
      expect(refused.headers.get('x-ratelimit-remaining-requests')).to.equal(null);
      // The model was not asked for it yet.
      await one.cancel(queued.json.id);
      expect((await one.submit()).status).to.equal(202);
    } finally {
      await strict.close();
    }
  });

  it('show a running job, and then its image', async () => {
    const { json: job } = await client.submit({ ...PROMPT, size: '1024x1536' });
    await darkroom.asked(1);
    const open = await client.poll(job.id);
    expect(open.json).to.deep.include({
      ...{ status: 'generating', succeeded: 0, failed: 0, pending: 1, error: null },
      progress: { completed: 0, total: 1, percent: 0 },
      data: [],
      items: [{ index: 1, status: 'running', attempts: 1 }],
    });
    expect(open.headers.get('retry-after')).to.equal('5');

    await darkroom.develop();
    const done = await client.ended(job.id);
    expect(done.headers.get('retry-after')).to.equal(null);
    expect(done.json).to.deep.include({
      status: 'completed',
      poll_after_seconds: 0,
      succeeded: 1,
      failed: 0,
      pending: 0,
      progress: { completed: 1, total: 1, percent: 100 },
      items: [{ index: 1, status: 'completed', attempts: 1 }],
    });
    const [entry] = done.json.data;
    expect(entry).to.include({
      index: 1,
      width: 1024,
      height: 1536,
      content_type: 'image/png',
      source: stack.fileSource,
      url: `${app.url}/v1/images/files/${entry.filename}`,
      raw_url: entry.url,
    });
    const file = await fetch(entry.url);
    expect([file.status, file.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
    const bytes = Buffer.from(await file.arrayBuffer());
    expect(bytes.length).to.equal(entry.bytes);
    expect(await sharp(bytes).metadata()).to.include({ width: 1024, height: 1536, format: 'png' });
  });

  once("fit another size to the requested canvas and keep the model's image as a separate file", async () => {
    const { json: job } = await client.submit();
    const given = await sampleImage({ width: 900, height: 700, format: 'png', seed: 3 });
    await darkroom.develop({ bytes: given, contentType: 'image/png' });
    const [entry] = (await client.ended(job.id)).json.data;
    expect(entry).to.include({ width: 1024, height: 1024 });
    expect(entry.raw_url).to.equal(entry.url.replace('.png', '_raw.png'));
    expect(Buffer.from(await (await fetch(entry.raw_url)).arrayBuffer())).to.deep.equal(given);
    const fitted = Buffer.from(await (await fetch(entry.url)).arrayBuffer());
    expect(await sharp(fitted).metadata()).to.include({ width: 1024, height: 1024 });
  });

  once('report a failure to a poll, and whether a retry helps', async () => {
    const { json: job, headers } = await client.submit();
    await darkroom.develop(new GatewayError('moderation_blocked', 'The prompt was refused.', { reason: 'violence' }));
    const { status, json } = await client.ended(job.id);
    const error = {
      message: 'The prompt was refused.',
      type: 'image_generation_user_error',
      param: null,
      code: 'moderation_blocked',
      reason: 'violence',
      retryable: false,
      request_id: headers.get('x-request-id'),
    };
    expect(status).to.equal(200);
    expect(json).to.deep.include({
      ...{ status: 'failed', succeeded: 0, failed: 1, pending: 0, poll_after_seconds: 0, error, data: [] },
      items: [{ index: 1, status: 'failed', attempts: 1, error }],
    });
  });

  once('report their place in the queue', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) ids.push((await client.submit()).json.id);
    await darkroom.asked(2);
    const looks = await Promise.all(ids.map(async (id) => (await client.poll(id)).json));
    expect(looks.map(({ status, queue_position }) => [status, queue_position])).to.deep.equal([
      ['generating', undefined],
      ['generating', undefined],
      ['queued', 1],
      ['queued', 2],
    ]);
  });

  once('can be cancelled in the queue, with the same answer when repeated', async () => {
    for (let count = 0; count < 2; count += 1) await client.submit();
    await darkroom.asked(2);
    const { json: job } = await client.submit();
    for (const answer of [await client.cancel(job.id), await client.remove(job.id), await client.poll(job.id)]) {
      expect(answer.status).to.equal(200);
      expect(answer.json).to.include({ status: 'cancelled', succeeded: 0, failed: 0, pending: 0 });
      expect(answer.json.error).to.include({ code: 'cancelled', retryable: false });
      expect(answer.json.items[0]).to.include({ status: 'cancelled', attempts: 0 });
      expect(answer.headers.get('retry-after')).to.equal(null);
    }
    await darkroom.develop();
    await darkroom.develop();
    expect(darkroom.calls).to.have.length(2);
  });

  once('can be cancelled while they run, which aborts the model', async () => {
    const { json: job } = await client.submit();
    await darkroom.asked(1);
    const signal = darkroom.calls[0]?.signal;
    const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
    expect((await client.remove(job.id)).json.status).to.equal('cancelled');
    await aborted;
    expect((await client.poll(job.id)).json.status).to.equal('cancelled');
  });

  once('cannot be cancelled after their end', async () => {
    const { json: job } = await client.submit();
    await darkroom.develop();
    await client.ended(job.id);
    for (const answer of [await client.cancel(job.id), await client.remove(job.id)]) {
      expect([answer.status, answer.json.error.code]).to.deep.equal([409, 'job_already_terminal']);
      expect(answer.headers.get('x-should-retry')).to.equal('false');
    }
  });

  once('exist only for their account', async () => {
    const { json: job } = await client.submit();
    const sibling = imageClient(app, await app.makeKey({ grants: ['images'] }));
    const stranger = imageClient(app, await app.makeKey({ grants: ['images'] }, { accountId: 'another' }));
    expect((await sibling.poll(job.id)).status).to.equal(200);
    for (const ask of [stranger.poll, stranger.cancel, stranger.remove]) {
      for (const id of [job.id, `imgjob_${'0'.repeat(32)}`, 'imgjob_%00', 'exjob_1', '..']) {
        const { status, json } = await ask(id);
        expect([status, json.error.code], id).to.deep.equal([404, id === '..' ? 'route_not_found' : 'job_not_found']);
      }
    }
    expect((await client.poll(job.id)).json.status).not.to.equal('cancelled');
  });

  once('hold a poll until the job ends, or the timeout', async () => {
    const { json: job } = await client.submit();
    await darkroom.asked(1);
    expect((await client.poll(job.id, '?wait=1')).json.status).to.equal('generating');
    expect((await client.poll(job.id, '', { prefer: 'wait=1' })).json.status).to.equal('generating');
    const held = client.poll(job.id, '?wait=60');
    const preferred = ['respond-async, wait="600"', 'wait=6000000'].map((prefer) =>
      client.poll(job.id, '', { prefer }),
    );
    await darkroom.develop();
    expect((await held).json.status).to.equal('completed');
    for (const { json } of await Promise.all(preferred)) expect(json.status).to.equal('completed');
    for (const wait of ['61', '-1', '1.5', 'x', '']) {
      const { status, json } = await client.poll(job.id, `?wait=${wait}`);
      expect([status, json.error.param], wait).to.deep.equal([400, 'wait']);
    }
  });

  once('end waiting polls when the gateway drains', async () => {
    const { json: job } = await client.submit();
    await darkroom.asked(1);
    const held = client.poll(job.id, '?wait=60');
    const blocking = client.generate();
    await darkroom.asked(2);
    app.health.startDraining();
    expect((await held).json.status).to.equal('generating');
    const { status, json, headers } = await blocking;
    expect([status, json.error.code]).to.deep.equal([503, 'shutting_down']);
    expect(headers.get('retry-after')).to.equal('1');
    expect(json.error.status_url).to.equal(`/v1/images/jobs/${json.error.job_id}`);
    expect((await client.poll(json.error.job_id)).json.status).to.equal('generating');
  });

  once('answer a poll of an unchanged job with 304', async () => {
    const { json: job } = await client.submit();
    await darkroom.asked(1);
    const first = await client.poll(job.id);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).to.match(/^"[\w-]+"$/);
    const again = await client.poll(job.id, '', { 'if-none-match': etag });
    expect([again.status, again.text, again.headers.get('etag')]).to.deep.equal([304, '', etag]);
    expect(again.headers.get('retry-after')).to.equal('5');
    await darkroom.develop();
    await client.ended(job.id);
    const changed = await client.poll(job.id, '', { 'if-none-match': etag });
    expect([changed.status, changed.json.status]).to.deep.equal([200, 'completed']);
  });

  once('answer a conditional poll completely after a change', async () => {
    await app.close();
    app = await startImageApp({ stack, generate: darkroom.generate, images: { workers: 1 } });
    client = imageClient(app, await app.makeKey({ grants: ['images'] }));
    for (let count = 0; count < 2; count += 1) await client.submit();
    const { json: job } = await client.submit();
    await darkroom.asked(1);
    const second = await client.poll(job.id);
    expect(second.json.queue_position).to.equal(2);
    let etag = second.headers.get('etag') ?? '';
    expect((await client.poll(job.id, '', { 'if-none-match': `W/${etag}` })).status).to.equal(304);

    await darkroom.develop();
    await darkroom.asked(2);
    const next = await client.poll(job.id, '', { 'if-none-match': etag });
    expect([next.status, next.json.queue_position]).to.deep.equal([200, 1]);
    etag = next.headers.get('etag') ?? '';
    await darkroom.develop();
    await darkroom.asked(3);
    const running = await client.poll(job.id, '', { 'if-none-match': etag });
    expect([running.status, running.json.status]).to.deep.equal([200, 'generating']);
    etag = running.headers.get('etag') ?? '';
    await client.cancel(job.id);
    const cancelled = await client.poll(job.id, '', { 'if-none-match': etag });
    expect([cancelled.status, cancelled.json.status]).to.deep.equal([200, 'cancelled']);
  });

  once('return the image in base64 only to polls of the job', async () => {
    const { json: job } = await client.submit({ ...PROMPT, response_format: 'b64_json' });
    await darkroom.develop();
    await client.ended(job.id);
    const done = await client.poll(job.id);
    const [entry] = done.json.data;
    expect(entry).to.include({ index: 1, source: 'inline', mime_type: 'image/png', width: 1024, height: 1024 });
    expect(entry).not.to.have.any.keys('url', 'raw_url');
    const { bytes } = await inventedImage(darkroom.calls[0] as never);
    expect(Buffer.from(entry.b64_json, 'base64')).to.deep.equal(bytes);
    expect(Number(done.headers.get('content-length'))).to.equal(done.text.length);
    expect((await app.request(`/v1/images/files/${entry.filename}`)).status).to.equal(404);
    const head = await fetch(`${app.url}/v1/images/jobs/${job.id}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${await app.makeKey({ grants: ['images'] })}` },
    });
    expect(head.status).to.equal(200);

    const { json: both } = await client.submit({ ...PROMPT, response_format: 'b64_json', upload_to_storage: true });
    await darkroom.develop();
    const [second] = (await client.ended(both.id)).json.data;
    expect(Buffer.from(await (await fetch(second.url)).arrayBuffer()).toString('base64')).to.equal(second.b64_json);
    expect(second.source).to.equal(stack.fileSource);
  });

  once(
    'are refused to a site account beyond a tenth of the queue or its daily images, but not to operators',
    async () => {
      await app.close();
      const images = { workers: 1, maxActive: 20 };
      app = await startImageApp({ stack, generate: darkroom.generate, images, accountImageDailyLimit: 3 });
      const clientOf = async (accountId: string) =>
        imageClient(app, await app.makeKey({ grants: ['images'], rpm: null, accountId }));
      const accountId = `acct_${'0'.repeat(32)}`;
      const clients = [await clientOf(accountId), await clientOf(accountId)] as const;
      const ids: string[] = [];
      for (const each of clients) {
        const { status, json } = await each.submit();
        expect(status).to.equal(202);
        ids.push(json.id);
      }
      for (const each of clients) {
        const refused = await each.submit();
        expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'too_many_open_jobs']);
        expect(refused.headers.get('retry-after')).to.equal('5');
      }
      const operator = await clientOf('team');
      for (let count = 0; count < 5; count += 1) expect((await operator.submit()).status).to.equal(202);
      await darkroom.develop();
      await clients[0].ended(ids[0] as string);
      const third = await clients[1].submit();
      expect(third.status).to.equal(202);
      expect((await clients[0].cancel(ids[1] as string)).status).to.be.oneOf([200, 409]);
      const states = await Promise.all([...ids, third.json.id].map((id) => clients[0].poll(id)));
      const kept = states.filter(({ json }) => json.status !== 'cancelled').length;
      for (let count = kept; count < 3; count += 1) expect((await clients[0].submit()).status).to.equal(202);
      const used = await clients[1].submit();
      expect([used.status, used.json.error.code]).to.deep.equal([429, 'daily_image_limit_reached']);
    },
  );

  const ofEachKey = isLongRun ? 100 : 20;
  for (const [whose, accountId, accepted] of [
    ['a site account', `acct_${'0'.repeat(32)}`, ofEachKey],
    ["an operator's account", 'team', 10 * ofEachKey],
  ] as const) {
    const each = accepted === ofEachKey ? it : once;
    each(
      `start another account's first image next, behind ten keys of ${whose} with ${10 * ofEachKey} submits`,
      async () => {
        await app.close();
        const images = { workers: 1, maxActive: 10 * ofEachKey + 1 };
        app = await startImageApp({ stack, generate: darkroom.generate, images, accountImageDailyLimit: 2_000 });
        const clientOf = async (owner: string) =>
          imageClient(app, await app.makeKey({ grants: ['images'], rpm: null, accountId: owner }));
        const busy = await Promise.all(Array.from({ length: 10 }, () => clientOf(accountId)));
        const submits = await Promise.all(
          busy.map(async (each) => {
            const statuses: number[] = [];
            for (let count = 0; count < ofEachKey; count += 1) statuses.push((await each.submit()).status);
            return statuses;
          }),
        );
        const statuses = submits.flat();
        expect(statuses.filter((status) => status === 202)).to.have.length(accepted);
        expect(statuses.filter((status) => status === 429)).to.have.length(10 * ofEachKey - accepted);
        await darkroom.asked(1);
        const other = await clientOf(`acct_${'1'.repeat(32)}`);
        expect((await other.submit({ ...PROMPT, prompt: 'Of another account' })).status).to.equal(202);
        await darkroom.develop();
        await darkroom.asked(2);
        expect(darkroom.calls[1]?.prompt).to.equal('Of another account');
      },
    );
  }

  it('are refused beyond the capacity of the queue, free of charge', async () => {
    await app.close();
    app = await startImageApp({ stack, generate: darkroom.generate, images: { workers: 1, maxActive: 2 } });
    client = imageClient(app, await app.makeKey({ grants: ['images'], rpm: 3 }));
    for (let count = 0; count < 2; count += 1) expect((await client.submit()).status).to.equal(202);
    const full = await client.submit();
    expect([full.status, full.json.error.code]).to.deep.equal([503, 'queue_full']);
    expect(full.headers.get('retry-after')).to.equal('5');
    await darkroom.develop();
    await darkroom.develop();
    await darkroom.asked(2);
    const { json: third } = await client.submit();
    expect(third.status).to.equal('queued');
  });
});
