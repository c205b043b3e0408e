/** Image jobs as server-sent events. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom } from '../../support/images/invented-image.js';
import { type ReadEvents, readEvents } from '../../support/models/event-reading.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

describeOnStacks('image jobs as events', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let client: ImageClient;
  let darkroom: ReturnType<typeof createDarkroom>;

  beforeEach(async () => {
    darkroom = createDarkroom();
    app = await startImageApp({ stack, generate: darkroom.generate, images: { workers: 1 } });
    key = await app.makeKey({ grants: ['images'] });
    client = imageClient(app, key);
  });
  afterEach(() => app.close());

  const ask = (id: string, { secret = key, ...init }: RequestInit & { secret?: string } = {}) =>
    fetch(`${app.url}/v1/images/jobs/${id}/events`, {
      ...init,
      headers: { authorization: `Bearer ${secret}`, ...init.headers },
    });
  const listen = async (id: string): Promise<ReadEvents> => readEvents(await ask(id));
  const statesIn = ({ events }: ReadEvents) => events.map(({ data }) => JSON.parse(data).status);

  it('send the state of a job, each change, and its end, like a poll', async () => {
    const { json: first } = await client.submit();
    await darkroom.asked(1);
    const { json: second } = await client.submit();
    const answer = await ask(second.id);
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(answer.headers.get('cache-control')).to.equal('no-store, no-transform');
    const events: ReadEvents['events'] = [];
    const heard = readEvents(answer, events);
    await until(() => events.length === 1);
    await darkroom.develop();
    await client.ended(first.id);
    await until(() => events.length === 2);
    await darkroom.develop();

    const told = await heard;
    expect([told.complaints, told.broken]).to.deep.equal([[], undefined]);
    expect(statesIn(told)).to.deep.equal(['queued', 'generating', 'completed']);
    expect(JSON.parse(told.events[0]?.data ?? '')).to.include({ id: second.id, queue_position: 1 });
    expect(new Set(told.events.map(({ id }) => id)).size).to.equal(3);
    expect(JSON.parse(told.events[2]?.data ?? '')).to.deep.equal((await client.poll(second.id)).json);
  });

  once('have partial images between the states, if the job asks for them', async () => {
    const { json: job } = await client.submit({ ...PROMPT, partial_images: 2 });
    await darkroom.asked(1);
    const events: ReadEvents['events'] = [];
    const heard = readEvents(await ask(job.id), events);
    await until(() => events.length === 1);
    const preview = { bytes: Buffer.from('a preview'), contentType: 'image/png' } as const;
    darkroom.calls[0]?.partials?.show(preview);
    await until(() => events.length === 2);
    await darkroom.develop();
    const told = await heard;
    expect(told.events.map(({ event }) => event)).to.deep.equal([
      undefined,
      'image_generation.partial_image',
      undefined,
    ]);
    expect(JSON.parse(told.events[1]?.data ?? '')).to.deep.equal({
      type: 'image_generation.partial_image',
      b64_json: preview.bytes.toString('base64'),
      partial_image_index: 0,
    });
    expect(told.events[1]?.id).to.equal(undefined);
  });

  once('send an ended job once, and nothing to a client that has seen it', async () => {
    const { json: job } = await client.submit();
    await client.cancel(job.id);
    const told = await listen(job.id);
    expect(statesIn(told)).to.deep.equal(['cancelled']);
    const [event] = told.events;
    const again = await ask(job.id, { headers: { 'last-event-id': event?.id ?? '' } });
    expect([again.status, await again.text()]).to.deep.equal([204, '']);
    const other = await ask(job.id, { headers: { 'last-event-id': 'another' } });
    expect(statesIn(await readEvents(other))).to.deep.equal(['cancelled']);
  });

  once('contain the image if the job delivers it in its answer', async () => {
    const { json: job } = await client.submit({ ...PROMPT, response_format: 'b64_json' });
    const heard = listen(job.id);
    await darkroom.develop();
    const { events } = await heard;
    const { data } = JSON.parse(events.at(-1)?.data ?? '');
    expect(Buffer.from(data[0].b64_json, 'base64').length).to.equal(data[0].bytes);
  });

  once('serve only the account of the job', async () => {
    const { json: job } = await client.submit();
    const stranger = await app.makeKey({ grants: ['images'] }, { accountId: 'somebody-else' });
    const refused = await ask(job.id, { secret: stranger });
    expect(refused.status).to.equal(404);
    expect((await refused.json()).error.code).to.equal('job_not_found');
    const head = await ask(job.id, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type')]).to.deep.equal([200, 'text/event-stream; charset=utf-8']);
  });

  once('leave room to others if one account has many keys', async () => {
    const places = 500;
    const account = { accountId: 'acc_1' };
    const keys = await Promise.all(Array.from({ length: 10 }, () => app.makeKey({ grants: ['images'] }, account)));
    const { json: job } = await imageClient(app, keys[0] ?? '').submit();
    const leaving = new AbortController();
    // One that nobody holds would be closed.
    const open: Response[] = [];
    let full = 0;
    const listenOnce = async (secret: string) => {
      const answer = await ask(job.id, { secret, signal: leaving.signal });
      if (answer.status === 200) open.push(answer);
      else if (((await answer.json()) as { error: { code: string } }).error.code === 'queue_full') full += 1;
    };
    try {
      // A key may ask so often in a second.
      await until(async () => {
        await Promise.all(keys.flatMap((secret) => Array.from({ length: 20 }, () => listenOnce(secret))));
        return full > 0 || open.length > places;
      }, 1_000);
      expect(open).to.have.length(places);
      const { json: another } = await client.submit();
      expect((await ask(another.id, { signal: leaving.signal })).status).to.equal(200);
    } finally {
      leaving.abort();
    }
  });

  once('end when the gateway drains, so that the client reconnects to another node', async () => {
    const { json: job } = await client.submit();
    const heard = listen(job.id);
    await darkroom.asked(1);
    app.health.startDraining();
    const told = await heard;
    expect([told.broken, told.events.some(({ event }) => event === 'error')]).to.deep.equal([undefined, false]);
    expect(told.events).to.not.have.length(0);
    expect(statesIn(told)).to.not.include('completed');
  });
});
