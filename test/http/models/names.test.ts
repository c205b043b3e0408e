/** Names of models: own ones, aliases and the upstream's. */

import path from 'node:path';
import { expect } from 'chai';
import { readPluginConfig } from 'mediagate';
import type { ApiKeyRecord } from '../../../server/keys/key-rows.js';
import { readPricesOf } from '../../../server/open-gateway.js';
import { readSettings } from '../../../server/settings/index.js';
import { startElevenlabsUpstream } from '../../support/audio/elevenlabs-upstream.js';
import { startOpenaiAudioUpstream } from '../../support/audio/openai-audio-upstream.js';
import { makeSound } from '../../support/audio/vendor-sounds.js';
import { startImageUpstream } from '../../support/images/image-upstream.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { packageRoot } from '../../support/package-root.js';
import { toForm } from '../audio/client.js';
import { type ListeningApp, type ListeningAppOptions, startApp } from '../http/listening-app.js';
import { post } from './text-app.js';

const FILE = path.join(packageRoot, 'plugins.config.json');
const CHATS = '/v1/chat/completions';
const MESSAGES = [{ role: 'user', content: 'Ahoy!' }];

/** The app with the plugins of the package, as an operator connects models. */
async function start(environment: Record<string, string>, options: ListeningAppOptions = {}): Promise<ListeningApp> {
  const plugins = (await readPluginConfig(FILE, environment)).filter(({ use }) =>
    /_(text|image|audio)$|speech$/.test(String(use)),
  );
  const trustedOrigins = Object.values(environment)
    .filter((value) => value.startsWith('http'))
    .map((url) => new URL(url).origin);
  return startApp({ ...options, gateway: { plugins, trustedOrigins, services: { http: undefined } } });
}

describe('names of models', () => {
  let upstream: TextUpstream;
  let app: ListeningApp | undefined;

  before(async () => {
    upstream = await startTextUpstream({ models: ['llama3.2', 'qwen3:32b', 'gpt-5.4'] });
  });
  beforeEach(() => upstream.reset());
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });
  after(() => upstream.close());

  const listOf = async (one: ListeningApp, key: string, kind = '/v1/chat/completions'): Promise<string[]> => {
    const { json } = await one.request('/v1/models', { headers: { authorization: `Bearer ${key}` } });
    return json.data
      .filter(({ routes }: { routes: string[] }) => routes.includes(kind))
      .map(({ id }: { id: string }) => id);
  };

  for (const [what, variables, first, asked] of [
    ['one model', { TEXT_UPSTREAM_MODEL: 'llama3.2' }, ['llama3.2'], { 'm-5.5': 'llama3.2', 'm-5.4-mini': 'llama3.2' }],
    [
      'a list of models',
      { TEXT_UPSTREAM_MODELS: 'llama3.2, qwen3:32b,gpt-5.4' },
      ['llama3.2', 'qwen3:32b', 'gpt-5.4'],
      { 'm-5.5': 'llama3.2', 'm-5.4': 'gpt-5.4', 'qwen3:32b': 'qwen3:32b' },
    ],
    [
      'both',
      { TEXT_UPSTREAM_MODEL: 'qwen3:32b', TEXT_UPSTREAM_MODELS: 'llama3.2' },
      ['qwen3:32b', 'llama3.2'],
      { 'm-5.5': 'qwen3:32b', 'llama3.2': 'llama3.2' },
    ],
  ] as const) {
    it(`with ${what} are listed first, and every listed name answers under that name`, async () => {
      app = await start({ TEXT_UPSTREAM_URL: upstream.baseUrl, ...variables }, { messages: true });
      const key = await app.makeKey({ grants: ['text'] });
      const listed = await listOf(app, key);
      expect(listed.slice(0, first.length)).to.deep.equal(first);
      expect(listed.slice(first.length)).to.have.length(12).and.include('m-5.5');
      for (const model of listed) {
        const chat = await post(app, CHATS, key, { model, messages: MESSAGES });
        expect([chat.status, chat.json.model, chat.headers.get('x-mediagate-stand-in')], model).to.deep.equal([
          200,
          model,
          null,
        ]);
        const response = await post(app, '/v1/responses', key, { model, input: 'Ahoy!', stream: true });
        expect(response.text).to.contain(`"model":"${model}"`);
        const message = await post(app, '/v1/messages', key, { model, max_tokens: 99, messages: MESSAGES });
        expect([message.status, message.json.model]).to.deep.equal([200, model]);
      }
      upstream.reset();
      for (const [model, sent] of Object.entries(asked)) {
        await post(app, CHATS, key, { model, messages: MESSAGES });
        expect(upstream.requests.at(-1)?.members.model, model).to.equal(sent);
      }
    });
  }

  it('of the vendor work beside those of the service document, which are mapped to them', async () => {
    app = await start({ TEXT_UPSTREAM_URL: upstream.baseUrl });
    const key = await app.makeKey({ grants: ['text'] });
    const listed = await listOf(app, key);
    expect([listed.length, listed[0], listed[12]]).to.deep.equal([24, 'gpt-5.5', 'm-5.5']);
    const { json } = await post(app, CHATS, key, { model: 'gpt-5.4', messages: MESSAGES });
    expect(json.model).to.equal('gpt-5.4');
    expect((await post(app, CHATS, key, { model: 'm-5.4', messages: MESSAGES })).json.model).to.equal('m-5.4');
  });

  it('that the server lacks are listed only after an answer', async () => {
    app = await start({ TEXT_UPSTREAM_URL: upstream.baseUrl });
    const key = await app.makeKey({ grants: ['text'] });
    expect(await listOf(app, key)).to.have.length(24);
    await app.gateway.checkUpstreams();
    expect(await listOf(app, key)).to.deep.equal(['gpt-5.4', 'm-5.4']);
    const hidden = await app?.request('/v1/models/m-5.5', { headers: { authorization: `Bearer ${key}` } });
    expect(hidden?.json.error.code).to.equal('model_not_found');
    upstream.behave(() => ({ does: 'answer' }));
    app.gateway.noteAnswered('gpt-5.5');
    expect(await listOf(app, key)).to.deep.equal(['gpt-5.5', 'gpt-5.4', 'm-5.5', 'm-5.4']);
    await app.gateway.checkUpstreams();
    expect(await listOf(app, key)).to.include('m-5.5');
  });

  it('are those of mocks without a connection, with or without aliases in the list', async () => {
    app = await start({});
    expect((await listOf(app, await app.makeKey({ grants: ['text'] })))[0]).to.equal('m-5.5');
    await app.close();
    app = await start(
      { TEXT_UPSTREAM_URL: upstream.baseUrl, TEXT_UPSTREAM_MODEL: 'llama3.2' },
      { modelAliases: false },
    );
    const key = await app.makeKey({ grants: ['text'] });
    expect(await listOf(app, key)).to.deep.equal(['llama3.2']);
    expect((await post(app, CHATS, key, { model: 'm-5.5', messages: MESSAGES })).status).to.equal(200);
  });

  it('are one model for key rules, prices and usage', async () => {
    const environment = { TEXT_UPSTREAM_URL: upstream.baseUrl, TEXT_UPSTREAM_MODELS: 'llama3.2,gpt-5.4' };
    const models = { 'm-5.5': { input: 1, output: 1_000_000 } };
    const entries = (await readPluginConfig(FILE, environment)).map((entry) =>
      entry.id === 'openai_text' ? { ...entry, prices: models } : entry,
    );
    const prices = await readPricesOf(readSettings({}), {}, entries);
    app = await start(environment, { prices });
    const keyFor = (names: string[]) =>
      (app as ListeningApp).makeKey({ grants: ['text'] }, { models: names } as Partial<ApiKeyRecord>);
    for (const [rule, allowed] of [
      ['m-5.5', ['m-5.5', 'llama3.2', 'm-5.2']],
      ['llama3.2', ['m-5.5', 'llama3.2', 'm-5.2']],
      ['m-5.4', ['m-5.4', 'gpt-5.4']],
    ] as const) {
      const key = await keyFor([rule]);
      for (const model of ['m-5.5', 'llama3.2', 'm-5.2', 'm-5.4', 'gpt-5.4']) {
        const { status, json, headers } = await post(app, CHATS, key, { model, messages: MESSAGES });
        const isAllowed = allowed.some((one) => one === model);
        expect([status, json.error?.code], `${model} by ${rule}`).to.deep.equal(
          isAllowed ? [200, undefined] : [403, 'model_not_allowed'],
        );
        const one = await app.request(`/v1/models/${model}`, { headers: { authorization: `Bearer ${key}` } });
        expect(one.status).to.equal(isAllowed ? 200 : 403);
        if (isAllowed) expect(headers.get('x-mediagate-cost') !== null).to.equal(rule !== 'm-5.4');
      }
      expect(await listOf(app, key))
        .to.include.members([...allowed])
        .and.not.include(rule === 'm-5.4' ? 'm-5.5' : 'm-5.4');
    }
  });

  it("of images, speech, transcription and sound effects include the connected model's", async () => {
    const [images, audio, vendor] = await Promise.all([
      startImageUpstream(),
      startOpenaiAudioUpstream(),
      startElevenlabsUpstream({ apiKey: 'sk_1234567890' }),
    ]);
    try {
      app = await start({
        IMAGE_UPSTREAM_URL: images.baseUrl,
        IMAGE_UPSTREAM_MODEL: 'flux-dev',
        TRANSCRIPTION_UPSTREAM_URL: audio.baseUrl,
        TRANSCRIPTION_UPSTREAM_MODEL: 'whisper-1',
        ELEVENLABS_API_KEY: 'sk_1234567890',
        ELEVENLABS_URL: vendor.baseUrl,
      });
      const key = await app.makeKey({ grants: ['images', 'audio', 'text'] });
      const { json } = await app.request('/v1/models', { headers: { authorization: `Bearer ${key}` } });
      const routes = new Map<string, string[]>(
        json.data.map(({ id, routes }: { id: string; routes: string[] }) => [id, routes]),
      );
      expect(routes.get('flux-dev')).to.deep.equal(['/v1/images/jobs', '/v1/images/generations', '/v1/images/edits']);
      expect(routes.get('whisper-1')).to.deep.equal(['/v1/audio/transcriptions', '/v1/audio/translations']);
      expect(routes.get('eleven_v3')).to.deep.equal(['/v1/audio/speech']);
      const imagesOnly = await app.makeKey({ grants: ['images'] });
      const refused = await app.request('/v1/models', { headers: { authorization: `Bearer ${imagesOnly}` } });
      expect([refused.status, refused.json.error.code]).to.deep.equal([403, 'route_not_allowed']);
      expect(refused.json.error.message).to.contain('image models: flux-dev, gen-image-2, gen-img-2.');
      const ids = [...routes.keys()];
      expect(ids.indexOf('flux-dev')).to.be.lessThan(ids.indexOf('m-5.5'));
      const image = await post(app, '/v1/images/generations', key, { model: 'flux-dev', prompt: 'A tug' });
      expect(image.status, image.text).to.equal(200);
      expect(images.requests.at(-1)?.members.model).to.equal('flux-dev');
      const speech = await post(app, '/v1/audio/speech', key, { model: 'eleven_v3', voice: 'alloy', input: 'Ahoy!' });
      expect(speech.status, speech.text.slice(0, 200)).to.equal(200);
      const file = new Blob([new Uint8Array(await makeSound('wav', 1))]);
      const heard = await app.request('/v1/audio/transcriptions', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: toForm({ file, model: 'whisper-1' }),
      });
      expect([heard.status, audio.requests.at(-1)?.members.model]).to.deep.equal([200, 'whisper-1']);
    } finally {
      await Promise.all([images.close(), audio.close(), vendor.close()]);
    }
  });
});
