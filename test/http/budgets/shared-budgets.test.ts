/** Budgets of a key and its group. */

import { expect } from 'chai';
import { GatewayError, type TextCall } from 'mediagate';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { inventedAudio } from '../../support/audio/invented-audio.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedImage, inventedModel } from '../../support/images/invented-image.js';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, inventedShop, productLink } from '../../support/links/invented-shop.js';
import { scriptedText } from '../../support/models/scripted-text.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { type Answer, LINK, type ListeningApp, startApp } from '../http/listening-app.js';

/** A token of output costs 10 micro units. */
const prices = createPrices({
  currency: 'USD',
  models: {
    'm-5.5': { input: 1, output: 10 },
    'gen-img-2': { images: [{ price: 0.04 }] },
    tts_v3: { characters: 100 },
  },
  links: [
    { platform: 'invented', price: 0.002 },
    { platform: 'bazaar', method: 'background_job', price: 0.01 },
    { platform: 'bazaar', price: 0.004 },
  ],
});
const OUTPUT = 300;

describeOnStacks('budgets of a key and its group', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let calls: TextCall[] = [];
  let draw: 'image' | 'failure' = 'image';

  beforeEach(untilDayHasRoom);
  before(async () => {
    const text = scriptedText(
      (call) => {
        calls.push(call);
        const usage = { prompt_tokens: 20, completion_tokens: OUTPUT, total_tokens: 20 + OUTPUT };
        const choices = [{ index: 0, message: { role: 'assistant', content: 'Ostend.' }, finish_reason: 'stop' }];
        const answer = { id: 'c', object: 'chat.completion', created: 1, model: call.model, choices, usage };
        return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(answer))] };
      },
      { models: ['m-5.5', 'm-open'].map((id) => ({ id, routes: ['chat_completions', 'responses'], efforts: [] })) },
    );
    const image = inventedModel(async (call) => {
      if (draw === 'failure') throw new Error('it cannot draw');
      return inventedImage(call);
    });
    const posts = invented({
      async extract({ link }) {
        if (link.id === '404') throw new GatewayError('removed', 'It is gone.');
        return inventedExtraction(link.id);
      },
    });
    const shop = inventedShop({ extract: async ({ link }) => inventedProduct(link.id) });
    const plugins = [text.plugin, image, inventedAudio().plugin, posts, shop].map((use) => ({ use }));
    app = await startApp({ stack, prices, gateway: { plugins } });
  });
  beforeEach(() => {
    calls = [];
  });
  after(() => app.close());

  async function makeKey(own: string, group?: string): Promise<string> {
    const groupName = group === undefined ? {} : { groupName: group };
    const ofGroup = group === undefined ? [] : await app.state.budgets.of({ scope: 'group', subject: group });
    const shared = ofGroup.length === 0 ? {} : { furtherBudgets: ofGroup.map(({ id }) => id) };
    const key = await app.makeKey({ grants: ['text', 'images', 'audio', 'extract'] }, { ...shared, ...groupName });
    await change('key', key.slice(6, 14), own);
    await app.keys.refresh();
    return key;
  }

  async function change(scope: 'key' | 'group', subject: string, text: string): Promise<void> {
    const amount = parseBudget(text);
    if (!amount) throw new Error(`${text} is no budget`);
    await app.state.budgets.change({ scope, subject, budgets: [amount], actor: 'operator:ann' });
  }

  function post(key: string, target: string, body: object): Promise<Answer> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    return app.request(target, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  const chat = (key: string, model = 'm-5.5') =>
    post(key, '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Name three harbours.' }] });

  /** Once nothing is held. */
  const budgetsOf = (key: string) =>
    until(async () => {
      const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
      // More than 20 polls in a second are refused.
      const budgets = (json.budgets ?? []) as { reserved: number; used: number; left: number; of: string }[];
      return budgets.length > 0 && budgets.every(({ reserved }) => reserved === 0) && budgets;
    });

  it('limit the answer to the remaining money, explain refusals, and appear in header fields', async () => {
    await app.state.budgets.createGroup('research');
    await change('group', 'research', '0.01 USD/month');
    const [ann, ben] = [await makeKey('1 USD/day', 'research'), await makeKey('3 requests/day', 'research')];
    const first = await chat(ann);
    expect([first.status, first.headers.get('x-mediagate-cost')]).to.deep.equal([200, '0.003020 USD']);
    const limit = Number(JSON.parse(Buffer.from(calls[0]?.body ?? '').toString()).max_completion_tokens);
    // A cent pays for 1,000 tokens of output, less the input.
    expect(limit).to.be.within(950, 1_000);
    const [own, shared] = ['key', 'group'].map((of) => ({ of, used: 0.00302, reserved: 0, currency: 'USD' }));
    expect(await budgetsOf(ann)).to.containSubset([
      { ...own, limit: 1, left: 0.99698, resets: 'day' },
      { ...shared, name: 'research', limit: 0.01, left: 0.00698, resets: 'month' },
    ]);
    for (const key of [ben, ann]) {
      expect((await chat(key)).status).to.equal(200);
      await budgetsOf(ann);
    }
    const refused = await chat(ben);
    expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'insufficient_quota']);
    expect(refused.headers.get('x-should-retry')).to.equal('false');
    expect(refused.json.error.message).to.match(
      /^The budget of the group research allows 0\.01 USD a month, of which 0\.00094 USD is free and this request may cost 0\.0025\d+ USD\. It starts again at \d{4}-\d\d-01T00:00:00\.000Z\.$/,
    );
    expect(calls).to.have.length(3);
  });

  once('refuse a model without a price, and leave other budgets alone', async () => {
    const key = await makeKey('5 USD/month');
    const refused = await chat(key, 'm-open');
    expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'insufficient_quota']);
    expect(refused.json.error.message).to.contain('no price in USD is known for m-open').and.contain('PRICES_FILE');
    expect(calls).to.have.length(0);
    expect((await chat(await makeKey('1M tokens/month'), 'm-open')).status).to.equal(200);
  });

  it('reserve the price of an image until its job ends', async () => {
    const key = await makeKey('0.10 USD/month');
    const submit = () => post(key, '/v1/images/jobs', { model: 'gen-img-2', prompt: 'a harbour' });
    const ended = async ({ json }: Answer) =>
      until(async () => {
        const { json: job } = await app.request(json.status_url, { headers: { authorization: `Bearer ${key}` } });
        return ['completed', 'failed'].includes(job.status) && job.status;
      });
    draw = 'failure';
    expect(await ended(await submit())).to.equal('failed');
    expect(await budgetsOf(key)).to.containSubset([{ used: 0, left: 0.1 }]);
    draw = 'image';
    const answers = await Promise.all([submit(), submit(), submit()]);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.map(({ json }) => json.error.message)).to.have.length(1);
    expect(refused[0]?.json.error.message).to.contain('is free and this request may cost 0.04 USD');
    for (const answer of answers) if (answer.status === 202) expect(await ended(answer)).to.equal('completed');
    expect(await budgetsOf(key)).to.containSubset([{ used: 0.08, left: 0.02 }]);
  });

  const item = (id: number) => `https://invented.example/item/${id}`;
  const extract = (key: string, url: string, more: object = {}) => post(key, '/v1/extract', { url, ...more });
  const codeOf = ({ status, json }: Answer) => [status, json.error?.code];
  const REFUSED = [429, 'insufficient_quota'];

  once(
    'reserve the highest price of a link until its end, free of charge for failed ones, without counting requests',
    async () => {
      const key = await makeKey('0.005 USD/month');
      expect((await extract(key, item(404))).status).to.equal(422);
      expect(await budgetsOf(key)).to.containSubset([{ used: 0, left: 0.005 }]);
      const answers = await Promise.all([1, 2, 3].map((id) => extract(key, item(id))));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 200, 429]);
      const refused = answers.find(({ status }) => status === 429);
      expect(refused?.json.error.message).to.contain('of which 0.001 USD is free and this request may cost 0.002 USD');
      expect(refused?.headers.get('x-should-retry')).to.equal('false');
      expect(await budgetsOf(key)).to.containSubset([{ used: 0.004, left: 0.001 }]);
      const ofRequests = await makeKey('1 requests/day');
      for (const id of [4, 5]) expect((await extract(ofRequests, item(id))).status).to.equal(200);
      const euros = await extract(await makeKey('5 EUR/month'), LINK);
      expect(codeOf(euros)).to.deep.equal(REFUSED);
      expect(euros.json.error.message).to.contain('no price in EUR is known for links of invented');
    },
  );

  once('reserve the sum of a batch, and charge a link job when it is submitted', async () => {
    const key = await makeKey('0.026 USD/month');
    const urls = [LINK, item(404), 'not a link', productLink(1)];
    const batch = await post(key, '/v1/extract/batch', { urls });
    expect([batch.status, batch.json.succeeded, batch.json.queued, batch.json.failed]).to.deep.equal([200, 1, 1, 2]);
    expect(batch.headers.get('x-mediagate-cost')).to.equal(null);
    expect(await budgetsOf(key)).to.containSubset([{ used: 0.012, left: 0.014 }]);
    const oembed = `/v1/oembed?url=${encodeURIComponent(LINK)}`;
    expect((await app.request(oembed, { headers: { authorization: `Bearer ${key}` } })).status).to.equal(200);
    expect(codeOf(await post(key, '/v1/extract/batch', { urls }))).to.deep.equal(REFUSED);
    const job = await extract(key, productLink(2), { force_async: true });
    expect(job.status, job.text).to.be.below(300);
    expect(await budgetsOf(key)).to.containSubset([{ used: 0.024, left: 0.002 }]);
    expect(codeOf(await extract(key, productLink(3), { force_async: true }))).to.deep.equal(REFUSED);
  });

  once('reserve the price of speech by its characters', async () => {
    const key = await makeKey('0.001 USD/month');
    const speak = (input: string) => post(key, '/v1/audio/speech', { model: 'tts_v3', input, voice: 'alloy' });
    const refused = await speak('a text that is too long');
    expect([refused.status, refused.json.error?.code]).to.deep.equal([429, 'insufficient_quota']);
    expect((await speak('short')).status).to.equal(200);
    expect(await budgetsOf(key)).to.containSubset([{ used: 0.0005, left: 0.0005 }]);
  });
});
