/** Audio by OpenAI's client, and its records in the usage log. */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import OpenAI, { toFile } from 'openai';
import type { UsageTotal } from '../../../server/usage/tables.js';
import { HEARD, HEARING, HEARING_FAST, SPEAKING, tonePieces } from '../../support/audio/invented-audio.js';
import { hearSound, makeSound } from '../../support/audio/sounds.js';
import { rejection } from '../../support/rejection.js';
import { variants } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';
import { type AudioApp, startAudioApp } from './client.js';

describe('audio by the openai client', () => {
  let app: AudioApp;
  let client: OpenAI;
  let sound: Buffer;

  beforeEach(untilDayHasRoom);
  before(async () => {
    app = await startAudioApp();
    client = new OpenAI({ apiKey: app.key, baseURL: `${app.url}/v1`, maxRetries: 0 });
    sound = await makeSound(app.folder, 'mp3');
  });
  after(() => app.close());
  beforeEach(() => {
    app.audio.transcribe = async () => HEARD;
    app.audio.sound = () => ({ body: tonePieces(), format: 'pcm' });
  });

  const file = () => toFile(sound, 'speech.mp3');

  it('transcribes into every format', async () => {
    const { audio } = client;
    const json = await audio.transcriptions.create({ file: await file(), model: HEARING });
    expect(json.text).to.equal(HEARD.text);
    const verbose = await audio.transcriptions.create({
      file: await file(),
      model: HEARING,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
      language: 'en',
      temperature: 0,
    });
    expect([verbose.text, verbose.duration, verbose.language]).to.deep.equal([HEARD.text, 3661.5, 'english']);
    expect(verbose.segments).to.have.length(2);
    expect(verbose.words).to.have.length(1);
    for (const response_format of ['text', 'srt', 'vtt'] as const) {
      const text = await audio.transcriptions.create({ file: await file(), model: HEARING, response_format });
      expect(text, response_format).to.be.a('string').and.include('Hello there.');
    }
  });

  it('streams a transcript', async () => {
    const events = await client.audio.transcriptions.create({ file: await file(), model: HEARING_FAST, stream: true });
    let text = '';
    let done: string | undefined;
    for await (const event of events) {
      if (event.type === 'transcript.text.delta') text += event.delta;
      if (event.type === 'transcript.text.done') done = event.text;
    }
    expect([text, done]).to.deep.equal([HEARD.text, HEARD.text]);
  });

  it('translates', async () => {
    const { text } = await client.audio.translations.create({ file: await file(), model: HEARING });
    expect(text).to.equal(HEARD.text);
    const refused = await rejection(client.audio.translations.create({ file: await file(), model: HEARING_FAST }));
    expect(refused).to.be.instanceOf(OpenAI.BadRequestError);
    expect(refused).to.include({ code: 'model_not_supported', param: 'model', type: 'invalid_request_error' });
  });

  const formats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;
  for (const format of variants(formats, (one) => one === 'mp3' || one === 'pcm')) {
    it(`returns ${format}`, async () => {
      const speech = await client.audio.speech.create({
        model: SPEAKING,
        voice: 'alloy',
        input: 'Hello there.',
        response_format: format,
      });
      const target = path.join(app.folder, `said.${format}`);
      await writeFile(target, Buffer.from(await speech.arrayBuffer()));
      const heard = await hearSound(target, ...(format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : []));
      expect(heard.seconds).to.be.closeTo(1, 0.12);
      expect(heard.crossings).to.be.closeTo(880, 40);
    });
  }

  it('throws the error classes of the client', async () => {
    const speak = (change: Partial<Parameters<typeof client.audio.speech.create>[0]> = {}) =>
      rejection(client.audio.speech.create({ model: SPEAKING, voice: 'alloy', input: 'Hello.', ...change }));
    expect(await speak({ model: 'tts-1' })).to.be.instanceOf(OpenAI.NotFoundError);
    expect(await speak({ input: '' })).to.be.instanceOf(OpenAI.BadRequestError);
    const stranger = new OpenAI({ apiKey: 'sk-mg-none', baseURL: `${app.url}/v1`, maxRetries: 0 });
    const unknown = rejection(stranger.audio.speech.create({ model: SPEAKING, voice: 'alloy', input: 'Hello.' }));
    expect(await unknown).to.be.instanceOf(OpenAI.AuthenticationError);
    app.audio.sound = () => {
      throw new GatewayError('upstream_rate_limited', 'Busy.', { retryAfterSeconds: 1 });
    };
    expect(await speak()).to.be.instanceOf(OpenAI.RateLimitError);
    app.audio.sound = () => {
      throw new GatewayError('upstream_auth_error', 'Our account was refused.');
    };
    expect(await speak()).to.be.instanceOf(OpenAI.InternalServerError);
  });

  it('retries when the model is busy', async () => {
    let tries = 0;
    app.audio.sound = () => {
      tries += 1;
      if (tries === 1) throw new GatewayError('upstream_rate_limited', 'Busy.', { retryAfterSeconds: 1 });
      return { body: tonePieces(), format: 'pcm' };
    };
    const patient = new OpenAI({ apiKey: app.key, baseURL: `${app.url}/v1`, maxRetries: 1 });
    const speech = await patient.audio.speech.create({ model: SPEAKING, voice: 'alloy', input: 'Hello.' });
    expect((await speech.arrayBuffer()).byteLength).to.be.above(1_000);
    expect(tries).to.equal(2);
  });

  describe('in the usage log', () => {
    const today = () => new Date().toISOString().slice(0, 10);

    async function totals(key: string): Promise<readonly UsageTotal[]> {
      const keyId = (await app.keys.verify(key)).id;
      await app.state.admissions.flush();
      return app.state.usage.totals({ keyId, from: today(), to: today() });
    }

    it('records transcribed seconds and spoken characters, once each', async () => {
      const key = await app.makeKey({ grants: ['audio'] });
      const own = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
      await own.audio.transcriptions.create({ file: await file(), model: HEARING });
      app.audio.sound = () => ({ body: tonePieces(), format: 'pcm', usage: Promise.resolve({ characters: 11 }) });
      await (await own.audio.speech.create({ model: SPEAKING, voice: 'a', input: 'Hello there.' })).arrayBuffer();
      app.audio.sound = () => ({ body: tonePieces(), format: 'pcm' });
      await (await own.audio.speech.create({ model: SPEAKING, voice: 'a', input: 'Hello there.' })).arrayBuffer();
      await rejection(own.audio.speech.create({ model: SPEAKING, voice: '', input: 'x' }));
      const rows = await totals(key);
      const heard = rows.find(({ model }) => model === HEARING);
      expect(heard).to.include({
        route: '/v1/audio/transcriptions',
        requests: 1,
        failed: 0,
        estimated: 0,
        seconds: 3661.5,
      });
      const said = rows.find(({ model }) => model === SPEAKING);
      expect(said).to.include({ route: '/v1/audio/speech', requests: 2, failed: 0, estimated: 1, characters: 23 });
    });

    it('records interrupted audio as counted, and nothing for a refusal', async () => {
      const key = await app.makeKey({ grants: ['audio'] });
      const own = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
      app.audio.sound = () => ({
        body: (async function* () {
          yield* tonePieces();
          throw new GatewayError('upstream_error', 'Broke off.');
        })(),
        format: 'pcm',
      });
      const speech = own.audio.speech.create({ model: SPEAKING, voice: 'a', input: 'Hello.', response_format: 'pcm' });
      await rejection(speech.then((response) => response.arrayBuffer()));
      app.audio.sound = () => {
        throw new GatewayError('upstream_error', 'No.');
      };
      await rejection(own.audio.speech.create({ model: SPEAKING, voice: 'a', input: 'Hello.' }));
      const [row] = await totals(key);
      expect(row).to.include({ requests: 2, failed: 1, estimated: 1, characters: 6 });
    });

    it('refuses a key for other models, or with a used-up budget', async () => {
      const other = await app.makeKey({ grants: ['audio'] }, { models: [HEARING] });
      const refused = await app.request('/v1/audio/speech', {
        method: 'POST',
        headers: { authorization: `Bearer ${other}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: SPEAKING, voice: 'a', input: 'Hello.' }),
      });
      expect([refused.status, refused.json.error.code]).to.deep.equal([403, 'model_not_allowed']);
      const used = {
        tokenLimit: 0,
        dailyTokenLimit: null,
        requestLimit: null,
        resets: 'never',
        expiresAt: null,
      } as const;
      const budget = { ...used, id: 'empty', accountId: 'local', planId: 'token_30m', createdAt: Date.now() };
      await app.state.budgets.create(budget);
      const poor = await app.makeKey({ grants: ['audio'] }, { budgetId: 'empty' });
      const own = new OpenAI({ apiKey: poor, baseURL: `${app.url}/v1`, maxRetries: 0 });
      const broke = rejection(own.audio.speech.create({ model: SPEAKING, voice: 'a', input: 'Hello.' }));
      expect(await broke).to.include({ status: 429, code: 'insufficient_quota' });
      expect(await totals(poor)).to.deep.equal([]);
    });

    it('takes a request and no tokens from a budget, although the model reports tokens', async () => {
      const budget = {
        id: 'small',
        accountId: 'local',
        planId: 'token_30m',
        tokenLimit: 10,
        dailyTokenLimit: null,
        requestLimit: 5,
        resets: 'never',
        expiresAt: null,
        createdAt: Date.now(),
      } as const;
      await app.state.budgets.create(budget);
      const key = await app.makeKey({ grants: ['audio'] }, { budgetId: 'small' });
      const own = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
      const usage = Promise.resolve({ inputTokens: 30, outputTokens: 40, totalTokens: 70 });
      app.audio.sound = () => ({ body: tonePieces(), format: 'pcm', usage });
      for (let count = 0; count < 2; count += 1) {
        const answer = await own.audio.speech.create({ model: SPEAKING, voice: 'a', input: 'Hello.' });
        await answer.arrayBuffer();
      }
      const state = await until(async () => {
        const found = await app.state.budgets.find('small');
        return found?.tokensReserved === 0 && found;
      });
      expect([state.requestsUsed, state.tokensUsed]).to.deep.equal([2, 0]);
      expect((await totals(key))[0]).to.include({ requests: 2, inputTokens: 60, outputTokens: 80 });
    });

    it('records audio that its sender aborted as counted', async () => {
      const key = await app.makeKey({ grants: ['audio'] });
      const own = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
      const asked = Promise.withResolvers<void>();
      app.audio.transcribe = ({ signal }) => {
        asked.resolve();
        return untilAborted(signal);
      };
      const leaving = new AbortController();
      const given = { file: await file(), model: HEARING };
      const left = rejection(own.audio.transcriptions.create(given, { signal: leaving.signal }));
      await asked.promise;
      leaving.abort();
      await left;
      const [row] = await until(async () => {
        const rows = await totals(key);
        return rows.length > 0 && rows;
      });
      expect(row).to.include({ requests: 1, failed: 1, estimated: 1 });
      expect(row?.seconds).to.be.closeTo(2, 0.1);
    });
  });
});
