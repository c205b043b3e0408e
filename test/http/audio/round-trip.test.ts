/** Offline speech that is spoken and transcribed in every format. */

import { expect } from 'chai';
import OpenAI, { toFile } from 'openai';
import offlineSpeech from '../../../plugins/offline_speech/index.js';
import { variants } from '../../support/runner/variants.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const SENTENCE = 'The quick brown fox jumps over the lazy dog.';

describe('offline speech, spoken and transcribed', () => {
  let app: ListeningApp;
  let client: OpenAI;

  before(async () => {
    app = await startApp({ gateway: { plugins: [{ use: offlineSpeech, timeoutMs: 120_000 }] } });
    const key = await app.makeKey({ grants: ['audio'] });
    client = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
  });
  after(() => app.close());

  // The others are no formats that can be sent back.
  for (const format of variants(['mp3', 'opus', 'flac', 'wav'] as const, (one) => one === 'mp3')) {
    it(`transcribes what was spoken, in ${format}`, async () => {
      const speech = await client.audio.speech.create({
        model: 'tts_v3',
        voice: 'nova',
        input: SENTENCE,
        response_format: format,
      });
      expect(speech.headers.get('x-mediagate-stand-in')).to.equal('offline_speech');
      const file = await toFile(Buffer.from(await speech.arrayBuffer()), 'speech');
      const heard = await client.audio.transcriptions.create({
        file,
        model: 'stt-large-v3',
        response_format: 'verbose_json',
      });
      const words = (text: string) =>
        text
          .toLowerCase()
          .replace(/[^a-z ]/g, '')
          .split(' ');
      const missed = words(SENTENCE).filter((word) => !words(heard.text).includes(word));
      expect(missed.length, heard.text).to.be.below(3);
      expect(heard.duration).to.be.within(1.5, 5);
    });
  }
});
