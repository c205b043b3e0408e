/** The cost of an image without a waiting client. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom, inventedModel, MODEL } from '../../support/images/invented-image.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { imageClient } from './client.js';

const SQUARE = { model: MODEL, prompt: 'A tug at dawn', size: '1024x1024' };
/** A partial image is 100 tokens of output: 0.001 USD. */
const images = [{ size: '1024x1024', price: 0.04 }, { price: 0.09 }];
const prices = createPrices({
  currency: 'USD',
  models: { [MODEL]: { images }, 'gen-image-2': { images, output: 10 } },
});
const DAILY = 3;

describeOnStacks('cost of an image without a waiting client', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  const darkroom = createDarkroom();

  beforeEach(untilDayHasRoom);
  before(async () => {
    app = await startApp({
      stack,
      prices,
      imageDailyLimit: DAILY,
      gateway: { plugins: [{ use: inventedModel(darkroom.generate) }], images: { workers: 1 } },
    });
  });
  after(() => app.close());

  async function newClient(text = '1 USD/month') {
    const key = await app.makeKey({ grants: ['images'], rpm: null }, { accountId: `local-${Math.random()}` });
    const amount = parseBudget(text);
    if (!amount) throw new Error('no budget');
    await app.state.budgets.change({
      scope: 'key',
      subject: key.slice(6, 14),
      budgets: [amount],
      actor: 'operator:ann',
    });
    await app.keys.refresh();
    /** Once nothing is held. */
    const spent = () =>
      until(async () => {
        const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
        const [budget] = json.budgets as { used: number; reserved: number }[];
        return budget?.reserved === 0 && budget;
      });
    return { key, ...imageClient(app, key), spent };
  }

  /** Submits a job whose model was asked. */
  async function asked(client: Awaited<ReturnType<typeof newClient>>, body: object = SQUARE): Promise<string> {
    const count = darkroom.calls.length;
    const { status, json } = await client.submit(body);
    expect(status).to.equal(202);
    await darkroom.asked(count + 1);
    return json.id;
  }

  once('is nothing before the model is called', async () => {
    const [one, other] = [await newClient(), await newClient()];
    const running = await asked(one);
    const { json } = await other.submit(SQUARE);
    await other.cancel(json.id);
    expect((await other.spent()).used).to.equal(0);
    await darkroom.develop();
    await one.ended(running);
    expect(await one.spent()).to.deep.include({ used: 0.04 });
  });

  it('is the whole price after that, once, with one image of the day, for each size', async () => {
    const client = await newClient();
    for (const [size, used] of [
      ['1024x1024', 0.04],
      ['1536x1024', 0.13],
      ['auto', 0.22],
    ] as const) {
      const id = await asked(client, { ...SQUARE, size });
      await client.cancel(id);
      await client.cancel(id);
      await darkroom.develop().catch(() => undefined);
      expect((await client.spent()).used, size).to.be.closeTo(used, 1e-9);
    }
    const refused = await client.submit(SQUARE);
    expect(refused.json.error.code).to.equal('daily_image_limit_reached');
  });

  once('includes the previews that were shown', async () => {
    const client = await newClient('9 requests/month');
    const leaving = new AbortController();
    const count = darkroom.calls.length;
    const left = client
      .generate({ ...SQUARE, model: 'gen-image-2', stream: true, partial_images: 3 }, {}, leaving.signal)
      .catch(() => undefined);
    await darkroom.asked(count + 1);
    const bytes = await sampleImage({ width: 64, height: 64, format: 'png', seed: 1 });
    for (let shown = 0; shown < 2; shown += 1)
      darkroom.calls[count]?.partials?.show({ bytes, contentType: 'image/png' });
    const id = await until(async () => {
      const { json } = await app.request('/v1/images/jobs', { headers: { authorization: `Bearer ${client.key}` } });
      return json.data[0]?.id as string | undefined;
    });
    await until(async () => (await app.state.jobs.inspect(id ?? ''))?.state === 'running');
    await new Promise((resolve) => setTimeout(resolve, 300));
    leaving.abort();
    await left;
    await client.cancel(id ?? '');
    await darkroom.develop().catch(() => undefined);
    expect((await app.state.jobs.inspect(id ?? ''))?.charge).to.deep.include({ units: 1, cost: 42_000 });
  });

  once('is the price if the model timed out or the key was revoked, and nothing if it failed', async () => {
    const ends: [string, number, (client: Awaited<ReturnType<typeof newClient>>) => Promise<unknown>][] = [
      ['late', 0.04, () => darkroom.develop(new GatewayError('upstream_timeout', 'It is late.'))],
      ['failed', 0, () => darkroom.develop(new GatewayError('upstream_error', 'It cannot draw.'))],
      ['refused', 0, () => darkroom.develop(new GatewayError('moderation_blocked', 'It does not draw that.'))],
      [
        'revoked',
        0.04,
        async ({ key }) => {
          await app.state.keys.revoke(key.slice(6, 14), Date.now());
          await darkroom.develop().catch(() => undefined);
        },
      ],
    ];
    for (const [name, used, end] of ends) {
      const client = await newClient();
      await asked(client);
      await end(client);
      const found = await until(async () => {
        const [budget] = await app.state.budgets.of({ scope: 'key', subject: client.key.slice(6, 14) });
        return budget?.costReserved === 0 && budget;
      });
      expect(found.costUsed, name).to.equal(used * 1_000_000);
    }
  });
});
