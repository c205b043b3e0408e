/** Marks on the answers of mocks. */

import path from 'node:path';
import { expect } from 'chai';
import { readPluginConfig } from 'mediagate';
import { makeSound } from '../../support/audio/vendor-sounds.js';
import { packageRoot } from '../../support/package-root.js';
import { toForm } from '../audio/client.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { post } from './text-app.js';

const NAMES = /^(?:echo_text|ffmpeg_audio|sketch_image|offline_speech)$/;

/** The gateway as it is without any setting: mocks answer every model route. */
describe('answers of mocks', () => {
  let app: ListeningApp;
  let key: string;

  before(async () => {
    const plugins = await readPluginConfig(path.join(packageRoot, 'plugins.config.json'), {});
    const mocks = plugins.filter(
      ({ use, fallback }) => fallback && /echo_text|ffmpeg_audio|sketch_image/.test(String(use)),
    );
    app = await startApp({ messages: true, gateway: { plugins: mocks } });
    key = await app.makeKey({ grants: ['text', 'audio', 'images'] });
  });
  after(() => app.close());

  const messages = [{ role: 'user', content: 'Ahoy!' }];
  const cases: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', { model: 'm-5.5', messages }],
    ['/v1/chat/completions', { model: 'm-5.5', messages, stream: true }],
    ['/v1/responses', { model: 'm-5.5', input: 'Ahoy!' }],
    ['/v1/responses', { model: 'm-5.5', input: 'Ahoy!', stream: true }],
    ['/v1/responses/input_tokens', { model: 'm-5.5', input: 'Ahoy!' }],
    ['/v1/messages', { model: 'm-5.5', max_tokens: 99, messages }],
    ['/v1/messages', { model: 'm-5.5', max_tokens: 99, messages, stream: true }],
    ['/v1/messages/count_tokens', { model: 'm-5.5', messages }],
    ['/v1/images/generations', { model: 'gen-img-2', prompt: 'A tug' }],
    ['/v1/images/jobs', { model: 'gen-img-2', prompt: 'A tug' }],
    ['/v1/audio/sound-effects', { model: 'tts_text_to_sound_v2', text: 'Rain', duration_seconds: 1 }],
  ];
  for (const [target, body] of cases) {
    it(`are marked: ${target}${'stream' in body ? ', streamed' : ''}`, async () => {
      const { status, headers, text } = await post(app, target, key, body);
      expect(status, text.slice(0, 300)).to.be.within(200, 202);
      expect(headers.get('x-mediagate-stand-in')).to.match(NAMES);
    });
  }

  it('are marked: /v1/audio/voice-changer', async () => {
    const audio = new Blob([new Uint8Array(await makeSound('wav', 1))]);
    const { status, headers } = await app.request('/v1/audio/voice-changer', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: toForm({ audio, model: 'tts_multilingual_sts_v2', voice: 'alloy' }),
    });
    expect([status, headers.get('x-mediagate-stand-in')]).to.deep.equal([200, 'ffmpeg_audio']);
  });
});
