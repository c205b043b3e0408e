/** Models without a price, and budgets of money. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { Transcript } from 'mediagate';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices, describeUnpriced } from '../../../server/prices/index.js';
import { HEARD, HEARING, HEARING_FAST, inventedAudio, SPEAKING } from '../../support/audio/invented-audio.js';
import { makeSound } from '../../support/audio/sounds.js';
import { inventedImage, inventedModel } from '../../support/images/invented-image.js';
import { runCommand } from '../../support/processes/command-line.js';
import { fileOf, toForm } from '../audio/client.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const PRICES = createPrices({
  currency: 'USD',
  models: {
    [HEARING]: { input: 2.5, inputAudio: 6, output: 10 },
    [HEARING_FAST]: { second: 0.0001 },
    // Speech is billed by characters.
    [SPEAKING]: { input: 0.6, output: 12 },
    'gen-img-2': { input: 5, inputImage: 8, output: 40, outputText: 10 },
  },
});
/** As a vendor reports a transcription that it bills by tokens. */
const TOKENS = {
  inputTokens: 1_000,
  inputTextTokens: 100,
  inputAudioTokens: 900,
  outputTokens: 50,
  totalTokens: 1_050,
};

describe('unpriced models', () => {
  let app: ListeningApp;
  let sound: Buffer;

  before(async () => {
    const { plugin: hearing, audio } = inventedAudio();
    audio.transcribe = async (): Promise<Transcript> => ({ ...HEARD, durationSeconds: 12, usage: TOKENS });
    app = await startApp({
      prices: PRICES,
      gateway: { plugins: [{ use: hearing }, { use: inventedModel(inventedImage) }] },
    });
    sound = await makeSound(app.dataDir, 'wav');
  });
  after(() => app.close());

  async function rich(money = '5 USD/month'): Promise<string> {
    const key = await app.makeKey({ grants: ['images', 'audio'], rpm: null });
    const amount = parseBudget(money);
    if (!amount) throw new Error(`${money} is no budget`);
    const subject = key.slice(6, 14);
    await app.state.budgets.change({ scope: 'key', subject, budgets: [amount], actor: 'operator:ann' });
    await app.keys.refresh();
    return key;
  }

  const hear = (key: string, model: string, response_format = 'json') =>
    app.request('/v1/audio/transcriptions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: toForm({ file: fileOf(sound), model, response_format }),
    });

  const post = (key: string, route: string, body: object) =>
    app.request(route, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('charge the tokens of a transcription as the vendor reports them', async () => {
    const key = await rich();
    for (const format of ['json', 'verbose_json']) {
      const { status, json, headers } = await hear(key, HEARING, format);
      expect(status, format).to.equal(200);
      expect(json.usage).to.deep.equal({
        type: 'tokens',
        input_tokens: 1_000,
        input_token_details: { text_tokens: 100, audio_tokens: 900 },
        output_tokens: 50,
        total_tokens: 1_050,
      });
      // 100 at 2.5, 900 at 6 and 50 at 10 of a million.
      expect(headers.get('x-mediagate-cost')).to.equal('0.006150 USD');
    }
  });

  it('charge seconds if the price is per second, although the vendor reports tokens', async () => {
    const { status, headers } = await hear(await rich(), HEARING_FAST);
    expect([status, headers.get('x-mediagate-cost')]).to.deep.equal([200, '0.001200 USD']);
  });

  it('charge tokens of an image model to a budget of money', async () => {
    const image = { model: 'gen-img-2', prompt: 'A tug', size: '1024x1024' };
    expect((await post(await rich(), '/v1/images/generations', image)).status).to.equal(200);
    const poor = await post(await rich('0.01 USD/month'), '/v1/images/generations', image);
    expect([poor.status, poor.json.error.code]).to.deep.equal([429, 'insufficient_quota']);
    expect(poor.json.error.message).to.contain('this request may cost');
  });

  it('are refused with the name of the missing price', async () => {
    const speech = { model: SPEAKING, input: 'Ahoy.', voice: 'alloy' };
    const refused = await post(await rich(), '/v1/audio/speech', speech);
    expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'insufficient_quota']);
    expect(refused.json.error.message)
      .to.contain(`no price in USD is known for ${SPEAKING}`)
      .and.contain('The operator sets `characters` in PRICES_FILE');
  });

  it('are listed only if no price matches', () => {
    // The one that hears here says that it only stands in for another.
    expect(describeUnpriced(PRICES, app.gateway).join('\n')).not.to.contain(SPEAKING);
    const gateway = { models: () => app.gateway.models(), plugins: () => [] };
    const lines = describeUnpriced(PRICES, gateway);
    const lineOf = (model: string) => lines.filter((line) => line.includes(` of ${model}:`));
    expect(lineOf(SPEAKING)).to.have.length(1);
    expect(lineOf(SPEAKING)[0]).to.contain('no `characters`');
    for (const model of [HEARING, HEARING_FAST, 'gen-img-2']) expect(lineOf(model), model).to.deep.equal([]);
    const none = describeUnpriced(createPrices({ currency: 'USD' }), gateway);
    expect(none.join('\n'))
      .to.contain(`no \`second\` of ${HEARING}`)
      .and.contain('no `images`, or `input` and `output`');
  });

  it('are reported by doctor', async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'unpriced-'));
    try {
      const file = path.join(folder, 'prices.json');
      const doctor = async (models: object) => {
        await writeFile(file, JSON.stringify({ currency: 'USD', models }));
        const environment = {
          DATA_DIR: folder,
          BROWSER: 'off',
          PRICES_FILE: file,
          TEXT_UPSTREAM_URL: 'http://127.0.0.1:1/v1',
          TEXT_UPSTREAM_MODEL: 'llama3.2',
        };
        return (await runCommand(['doctor'], environment)).stdout;
      };
      expect(await doctor({ 'llama3.2': { second: 1 } })).to.match(
        /^warn +prices +.*no `input` and `output` of llama3\.2: its costs are not known/m,
      );
      expect(await doctor({ 'llama3.2': { input: 1, output: 2 } })).not.to.match(/prices +.*llama3\.2:/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
