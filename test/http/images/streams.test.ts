/** Streamed images: partial images, the result, errors and repeated keys. */

import { expect } from 'chai';
import type { EventSourceMessage } from 'eventsource-parser';
import { GatewayError, type GeneratedImage } from 'mediagate';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom } from '../../support/images/invented-image.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { type ReadEvents, readEvents } from '../../support/models/event-reading.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

describeOnStacks('streamed images', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let client: ImageClient;
  let darkroom: ReturnType<typeof createDarkroom>;
  let key: string;
  let preview: GeneratedImage;

  beforeEach(async () => {
    darkroom = createDarkroom();
    app = await startImageApp({ stack, generate: darkroom.generate, images: { workers: 1 } });
    key = await app.makeKey({ grants: ['images'] });
    client = imageClient(app, key);
    preview = {
      bytes: await sampleImage({ width: 32, height: 32, format: 'jpeg', seed: 1 }),
      contentType: 'image/jpeg',
    };
  });
  afterEach(() => app.close());

  const ask = (body: object, more: RequestInit = {}, path = '/v1/images/generations') =>
    fetch(app.url + path, {
      method: 'POST',
      ...more,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more.headers },
      body: JSON.stringify({ ...PROMPT, stream: true, ...body }),
    });
  const dataOf = ({ data }: EventSourceMessage) => JSON.parse(data);
  const namesOf = ({ events }: ReadEvents) => events.map(({ event }) => event);

  it('send partial images as the model shows them, and then the image with its usage', async () => {
    const answer = await ask({ partial_images: 2, size: '1024x1536', quality: 'high', output_format: 'webp' });
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    const events: EventSourceMessage[] = [];
    const read = readEvents(answer, events);
    await darkroom.asked(1);
    const [call] = darkroom.calls;
    expect(call?.partials?.count).to.equal(2);
    for (let count = 1; count <= 3; count += 1) {
      call?.partials?.show(preview);
      await until(() => events.length === Math.min(2, count));
    }
    await darkroom.develop();
    const { complaints, broken } = await read;
    expect([complaints, broken]).to.deep.equal([[], undefined]);
    expect(events.map(({ event }) => event)).to.deep.equal([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ]);
    const [first, second, last] = events.map(dataOf);
    expect(Buffer.from(first.b64_json, 'base64').equals(preview.bytes)).to.equal(true);
    const { b64_json: _, created_at, ...shown } = second;
    expect(created_at).to.be.closeTo(Date.now() / 1000, 60);
    expect(shown).to.deep.equal({
      type: 'image_generation.partial_image',
      partial_image_index: 1,
      size: '1024x1536',
      quality: 'high',
      background: 'auto',
      output_format: 'jpeg',
    });
    const { b64_json, created_at: at, ...completed } = last;
    expect(at).to.be.at.least(created_at);
    expect(completed).to.deep.equal({
      type: 'image_generation.completed',
      size: '1024x1536',
      quality: 'high',
      background: 'auto',
      output_format: 'webp',
      usage: { input_tokens: 21, output_tokens: 1056, total_tokens: 1077 },
    });
    expect(Buffer.from(b64_json, 'base64').toString('latin1', 0, 4)).to.equal('RIFF');
  });

  once('work without partial images, and add a link if requested', async () => {
    const image = `data:image/png;base64,${(await sampleImage({ width: 32, height: 32, format: 'png', seed: 1 })).toString('base64')}`;
    const read = ask({ image, response_format: 'url' }, {}, '/v1/images/edits').then((answer) => readEvents(answer));
    await darkroom.develop();
    expect(darkroom.calls[0]).not.to.have.property('partials');
    const all = await read;
    expect(namesOf(all)).to.deep.equal(['image_edit.completed']);
    const data = dataOf(all.events[0] as EventSourceMessage);
    const file = await fetch(data.url);
    expect(Buffer.from(data.b64_json, 'base64').equals(Buffer.from(await file.arrayBuffer()))).to.equal(true);
  });

  once('refuse a request as usual, and end with an error and the job if the image fails', async () => {
    const refused = await ask({ n: 2 });
    expect([refused.status, (await refused.json()).error.param]).to.deep.equal([400, 'n']);
    const read = ask({}).then((answer) => readEvents(answer));
    await darkroom.develop(new GatewayError('moderation_blocked', 'It is blocked.', { reason: 'because' }));
    const all = await read;
    expect(namesOf(all)).to.deep.equal(['error']);
    const { error } = dataOf(all.events[0] as EventSourceMessage);
    expect(error).to.include({ code: 'moderation_blocked', reason: 'because' });
    expect((await client.poll(error.job_id)).json.status).to.equal('failed');
  });

  once('continue without their client, and answer a repeated key', async () => {
    const leaving = new AbortController();
    const keyed = { 'idempotency-key': 'streamed' };
    const left = await ask({ partial_images: 1 }, { headers: keyed, signal: leaving.signal });
    await darkroom.asked(1);
    darkroom.calls[0]?.partials?.show(preview);
    leaving.abort();
    await readEvents(left);
    const again = ask({ partial_images: 1 }, { headers: keyed });
    await until(async () => (await again).status === 200);
    await darkroom.develop();
    expect(namesOf(await readEvents(await again))).to.deep.equal([
      'image_generation.partial_image',
      'image_generation.completed',
    ]);
    const later = await ask({ partial_images: 1 }, { headers: keyed });
    expect(later.headers.get('idempotency-replayed')).to.equal('true');
    expect(namesOf(await readEvents(later))).to.deep.equal(['image_generation.completed']);
    expect(darkroom.calls).to.have.length(1);
  });

  once('cancel a queued job whose client disconnects, and end with an error when the gateway drains', async () => {
    await client.submit();
    await darkroom.asked(1);
    const leaving = new AbortController();
    const left = await ask({}, { signal: leaving.signal });
    expect(await app.state.jobs.active('image')).to.equal(2);
    leaving.abort();
    await readEvents(left);
    await until(async () => (await app.state.jobs.active('image')) === 1);
    const open = await ask({});
    app.health.startDraining();
    const all = await readEvents(open);
    expect(namesOf(all)).to.deep.equal(['error']);
    expect(dataOf(all.events[0] as EventSourceMessage).error).to.include.keys('job_id', 'status_url');
  });

  once('become a job for a client that prefers one', async () => {
    const answer = await ask({}, { headers: { prefer: 'respond-async' } });
    expect([answer.status, (await answer.json()).status]).to.deep.equal([202, 'queued']);
  });
});
