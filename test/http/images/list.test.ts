/** The list of image jobs: pages, states, priorities and times. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom, inventedImage } from '../../support/images/invented-image.js';
import { onceIt } from '../../support/runner/variants.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

describeOnStacks('the list of image jobs', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let client: ImageClient;
  let darkroom: ReturnType<typeof createDarkroom>;
  let key: string;

  beforeEach(async () => {
    darkroom = createDarkroom();
    app = await startImageApp({ stack, generate: darkroom.generate, images: { workers: 1 } });
    key = await app.makeKey({ grants: ['images'] });
    client = imageClient(app, key);
  });
  afterEach(() => app.close());

  const list = (query = '', secret = key) =>
    app.request(`/v1/images/jobs${query}`, { headers: { authorization: `Bearer ${secret}` } });

  it('shows the jobs of an account newest first, in pages and by state', async () => {
    expect((await list()).json).to.deep.equal({
      object: 'list',
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    });
    const { json: done } = await client.submit();
    await darkroom.develop();
    await client.ended(done.id);
    const { json: running } = await client.submit();
    await darkroom.asked(2);
    const { json: queued } = await client.submit({ ...PROMPT, prompt: 'Another' });
    const { json: cancelled } = await client.submit();
    await client.cancel(cancelled.id);

    const { status, json } = await list();
    const all = [cancelled.id, queued.id, running.id, done.id];
    expect([status, json.has_more, json.first_id, json.last_id]).to.deep.equal([200, false, all[0], all[3]]);
    expect(json.data.map(({ id }: { id: string }) => id)).to.deep.equal(all);
    // As a poll shows each, but for its place in the queue.
    for (const job of json.data) {
      const { queue_position: _, ...polled } = (await client.poll(job.id)).json;
      expect(job).to.deep.equal(polled);
    }

    const first = await list('?limit=3');
    expect([first.json.data.length, first.json.has_more, first.json.last_id]).to.deep.equal([3, true, running.id]);
    const second = await list(`?limit=3&after=${running.id}`);
    expect(second.json.data.map(({ id }: { id: string }) => id)).to.deep.equal([done.id]);
    expect(second.json.has_more).to.equal(false);
    for (const job of [done, running, queued, cancelled]) {
      const { status: state } = (await client.poll(job.id)).json;
      const only = (await list(`?status=${state}`)).json.data;
      expect(
        only.map(({ id }: { id: string }) => id),
        state,
      ).to.deep.equal([job.id]);
    }
    expect((await list('?status=failed')).json.data).to.deep.equal([]);
  });

  once('hides jobs of other accounts, and refuses unknown filters', async () => {
    const { json: job } = await client.submit();
    const stranger = await app.makeKey({ grants: ['images'] }, { accountId: 'somebody-else' });
    expect((await list('', stranger)).json.data).to.deep.equal([]);
    for (const [query, param, secret] of [
      ['?limit=0', 'limit'],
      ['?limit=101', 'limit'],
      ['?limit=x', 'limit'],
      ['?status=running', 'status'],
      ['?status=queued&status=failed', 'status'],
      ['?after=imgjob_none', 'after'],
      [`?after=${job.id}`, 'after', stranger],
    ] as const) {
      const { status, json } = await list(query, secret);
      const expected = param === 'after' ? [404, 'job_not_found'] : [400, 'invalid_value'];
      expect([status, json.error.code, json.error.param], query).to.deep.equal([...expected, param]);
    }
    const other = await app.makeKey({ grants: ['text'] });
    expect((await list('', other)).json.error.code).to.equal('route_not_allowed');
  });

  once('shows that the jobs of a key with a higher priority run first, in its account', async () => {
    const account = 'acc_team';
    const keyOf = (change: object) => app.makeKey({ grants: ['images'] }, { accountId: account, ...change });
    const [low, high] = await Promise.all([keyOf({ priority: 'low' }), keyOf({ priority: 'high' })]);
    const other = await app.makeKey({ grants: ['images'] }, { accountId: 'acc_other' });
    const submit = async (secret: string, prompt: string) => {
      const { status } = await imageClient(app, secret).submit({ ...PROMPT, prompt });
      expect(status).to.equal(202);
    };
    await submit(low, 'low 1');
    await darkroom.asked(1);
    for (const [secret, prompt] of [
      [low, 'low 2'],
      [other, 'other'],
      [high, 'high 1'],
      [high, 'high 2'],
    ] as const) {
      await submit(secret, prompt);
    }
    for (let count = 0; count < 5; count += 1) await darkroom.develop();
    const order = darkroom.calls.map(({ prompt }) => prompt);
    expect(order.filter((prompt) => prompt !== 'other')).to.deep.equal(['low 1', 'high 1', 'high 2', 'low 2']);
    expect(order.indexOf('other')).to.be.at.most(2);
  });

  once('shows the seed of an image if the model reports one', async () => {
    const { json: job } = await client.submit();
    await darkroom.asked(1);
    const image = await inventedImage(darkroom.calls[0] as never);
    await darkroom.develop({ ...image, seed: 42 });
    expect((await client.ended(job.id)).json.data[0].seed).to.equal(42);
    expect((await list()).json.data[0].data[0].seed).to.equal(42);
  });

  once('shows how long a job waited and ran', async () => {
    const { json: job } = await client.submit();
    await darkroom.asked(1);
    const open = (await client.poll(job.id)).json;
    expect([typeof open.queue_seconds, open.run_seconds]).to.deep.equal(['number', null]);
    const { json: next } = await client.submit();
    expect((await client.poll(next.id)).json).to.include({ queue_seconds: null, run_seconds: null });
    await darkroom.develop();
    const { created_at, started_at, finished_at, ...done } = (await client.ended(job.id)).json;
    const seconds = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;
    expect(done).to.include({
      queue_seconds: seconds(created_at, started_at),
      run_seconds: seconds(started_at, finished_at),
    });
  });
});
