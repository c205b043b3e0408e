/** The ElevenLabs audio provider over sockets. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type {
  AudioOperation,
  AudioProvider,
  AudioStream,
  ChangeVoiceCall,
  GatewayError,
  GenerateSoundCall,
  Plugin,
  SpeakCall,
  SpeechFormat,
} from 'mediagate';
import elevenlabsAudio from 'mediagate/plugins/elevenlabs_audio';
import {
  type ElevenlabsAnswer,
  type ElevenlabsUpstream,
  startElevenlabsUpstream,
} from '../support/audio/elevenlabs-upstream.js';
import { makeSound, soundSeconds, spokenSeconds } from '../support/audio/vendor-sounds.js';
import { rejection } from '../support/rejection.js';
import { type AudioStage, openAudioStage, readAll } from './audio-provider.js';

const KEY = 'sk_canary-of-the-vendor-0003';
const FABLE = 'JBFqnCBsd6RMkjVDRZzb';

const plugin = elevenlabsAudio as unknown as Plugin;
const models = [
  { id: 'tts_v3', operations: ['speak'], upstreamModel: 'eleven_v3', maxCharacters: 5_000 },
  { id: 'tts_multilingual_v2', operations: ['speak'], upstreamModel: 'eleven_multilingual_v2' },
  { id: 'tts_multilingual_sts_v2', operations: ['changeVoice'], upstreamModel: 'eleven_multilingual_sts_v2' },
  { id: 'tts_text_to_sound_v2', operations: ['generateSound'], upstreamModel: 'eleven_text_to_sound_v2' },
];

describe('elevenlabs_audio over sockets', () => {
  let vendor: ElevenlabsUpstream;
  let silent: ElevenlabsUpstream;
  let stage: AudioStage;

  before(async () => {
    [vendor, silent] = await Promise.all([
      startElevenlabsUpstream({ apiKey: KEY }),
      startElevenlabsUpstream({ apiKey: KEY, silent: true }),
    ]);
    stage = await openAudioStage([vendor.origin, silent.origin]);
  });
  beforeEach(() => vendor.reset());
  afterEach(() => stage.clear());
  after(async () => {
    await stage.close();
    await Promise.all([vendor.close(), silent.close()]);
  });

  const MODELS: Partial<Record<AudioOperation, string>> = {
    speak: 'tts_v3',
    changeVoice: 'tts_multilingual_sts_v2',
    generateSound: 'tts_text_to_sound_v2',
  };
  const provider = (operation: AudioOperation, more: object = {}): Promise<AudioProvider> =>
    stage.provider(plugin, { url: vendor.baseUrl, apiKey: KEY, models, ...more }, MODELS[operation] ?? '', operation);
  const signal = () => new AbortController().signal;

  async function say(more: Partial<SpeakCall> = {}, options: object = {}): Promise<AudioStream> {
    const { speak } = await provider('speak', options);
    const call = { model: 'tts_v3', input: 'Good morning, harbour.', voice: 'fable', format: 'mp3', speed: 1 } as const;
    return (await speak?.({ ...call, signal: signal(), ...more })) ?? expect.fail('no speak');
  }

  async function change(more: Partial<ChangeVoiceCall> = {}): Promise<AudioStream> {
    const { changeVoice } = await provider('changeVoice');
    const sound = await stage.sound('wav', 1);
    const call = { model: 'tts_multilingual_sts_v2', voice: 'nova', format: 'mp3', options: {}, audio: sound } as const;
    return (await changeVoice?.({ ...call, signal: signal(), ...more })) ?? expect.fail('no changeVoice');
  }

  async function effect(more: Partial<GenerateSoundCall> = {}): Promise<AudioStream> {
    const { generateSound } = await provider('generateSound');
    const call = { model: 'tts_text_to_sound_v2', text: 'Rain on a tin roof', format: 'mp3', options: {} } as const;
    return (await generateSound?.({ ...call, signal: signal(), ...more })) ?? expect.fail('no generateSound');
  }

  async function failureOf(work: Promise<unknown>): Promise<GatewayError> {
    const error = (await rejection(work)) as GatewayError;
    const said = JSON.stringify([error.message, error.reason, stage.lines]);
    for (const secret of [KEY, 'eleven_']) expect(said).not.to.include(secret);
    return error;
  }

  describe('speaking', () => {
    const comes: Readonly<Record<SpeechFormat, [string, SpeechFormat]>> = {
      mp3: ['mp3_44100_128', 'mp3'],
      opus: ['opus_48000_128', 'opus'],
      pcm: ['pcm_24000', 'pcm'],
      wav: ['pcm_24000', 'pcm'],
      flac: ['pcm_24000', 'pcm'],
      aac: ['pcm_24000', 'pcm'],
    };
    for (const [wanted, [asked, format]] of Object.entries(comes)) {
      it(`requests ${asked} for ${wanted}, and streams it`, async () => {
        const stream = await say({ format: wanted as SpeechFormat });
        const bytes = await readAll(stream);
        expect(vendor.requests[0]?.outputFormat).to.equal(asked);
        expect(stream.format).to.equal(format);
        const seconds = spokenSeconds('Good morning, harbour.');
        expect(bytes.equals(await makeSound(format, seconds))).to.equal(true);
        expect(await soundSeconds(bytes, format === 'pcm' ? 'pcm' : undefined)).to.be.closeTo(seconds, 0.15);
      });
    }

    it("sends the caller's settings in the vendor's fields, and reports the cost and ignored fields", async () => {
      const stream = await say({ input: 'Ahoi "é" \n漢', speed: 1.2, instructions: 'Loud.' });
      const [request] = vendor.requests;
      expect(request).to.deep.include({
        path: `/v1/text-to-speech/${FABLE}/stream`,
        members: { text: 'Ahoi "é" \n漢', model_id: 'eleven_v3', voice_settings: { speed: 1.2 } },
      });
      expect(request?.headers).to.include({ 'xi-api-key': KEY, 'content-type': 'application/json' });
      expect(request?.headers.authorization).to.equal(undefined);
      expect(stream.ignored).to.deep.equal(['instructions']);
      expect(await stream.usage).to.deep.equal({ characters: 11 });
    });

    it("sends no settings without the caller's, and reports nothing that the vendor does not", async () => {
      const stream = await say({}, { url: `${silent.baseUrl}/` });
      expect(silent.requests[0]?.members).to.have.all.keys('text', 'model_id');
      expect(stream).to.have.all.keys('body', 'format');
    });

    it("reports an operator's address that does not answer, also a private one", async () => {
      const error = await failureOf(say({}, { url: 'http://127.0.0.1:1/v1' }));
      expect(error).to.include({ code: 'upstream_error' });
    });

    it('accepts voices by the names of the OpenAI format, by names of its own, and by their ids', async () => {
      await say({ voice: 'Fable' });
      await say({ voice: 'a1B2c3D4e5F6g7H8i9J0' });
      await say({ voice: 'captain' }, { voices: { captain: '../../v1/voices?x=1' } });
      expect(vendor.requests.map(({ path }) => path)).to.deep.equal([
        `/v1/text-to-speech/${FABLE}/stream`,
        '/v1/text-to-speech/a1B2c3D4e5F6g7H8i9J0/stream',
        '/v1/text-to-speech/..%2F..%2Fv1%2Fvoices%3Fx%3D1/stream',
      ]);
    });

    it('refuses invalid requests before it calls the vendor', async () => {
      const refusals: [Partial<SpeakCall>, string, string, RegExp][] = [
        [{ voice: 'nobody' }, 'invalid_value', 'voice', /alloy, ash, ballad/],
        [{ voice: '../../v1/user' }, 'invalid_value', 'voice', /20 letters and digits/],
        [{ voice: 'constructor' }, 'invalid_value', 'voice', /must be one of/],
        [{ speed: 0.69 }, 'unsupported_value', 'speed', /0\.7 to 1\.2/],
        [{ speed: 1.21 }, 'unsupported_value', 'speed', /0\.7 to 1\.2/],
        [{ input: 'x'.repeat(5_001) }, 'invalid_value', 'input', /5000 characters/],
      ];
      for (const [call, code, param, message] of refusals) {
        const error = await failureOf(say(call));
        expect(error).to.include({ code, param, retryable: false });
        expect(error.message).to.match(message);
      }
      expect(vendor.requests).to.have.length(0);
      await say({ input: '🌊'.repeat(5_000), speed: 0.7 });
      await say({ input: 'x'.repeat(9_000), model: 'tts_multilingual_v2' });
      expect(vendor.requests).to.have.length(2);
    });
  });

  describe('changing voices', () => {
    it('sends the audio and the settings as a form', async () => {
      const audio = await stage.sound('opus', 2);
      const options = {
        voice_settings: '{"stability":0.4}',
        seed: '7',
        remove_background_noise: 'true',
        file_format: 'pcm_s16le_16',
      };
      const stream = await change({ audio, options, format: 'wav' });
      const [request] = vendor.requests;
      expect(request).to.include({
        path: '/v1/speech-to-speech/EXAVITQu4vr4xnSDxMaL/stream',
        outputFormat: 'pcm_24000',
      });
      expect(request?.members).to.deep.equal({
        model_id: 'eleven_multilingual_sts_v2',
        voice_settings: '{"stability":0.4}',
        seed: '7',
        remove_background_noise: 'true',
      });
      const [file] = request?.files ?? [];
      expect(file).to.include({ name: 'audio', fileName: 'sound.ogg', contentType: 'audio/ogg' });
      expect(file?.bytes.equals(await readFile(audio.path))).to.equal(true);
      expect(stream).to.deep.include({ format: 'pcm', ignored: ['file_format'] });
      expect(await soundSeconds(await readAll(stream), 'pcm')).to.be.closeTo(2, 0.1);
      expect(await stream.usage).to.deep.equal({ characters: 34 });
    });

    it("reports invalid audio as the caller's fault", async () => {
      for (const text of ['{', '[]', '1']) {
        const error = await failureOf(change({ options: { voice_settings: text } }));
        expect(error).to.include({ code: 'invalid_value', param: 'voice_settings' });
      }
      expect(vendor.requests).to.have.length(0);
      expect(await failureOf(change({ options: { seed: 'x' } }))).to.include({
        code: 'invalid_value',
        param: 'seed',
        reason: 'Input should be a valid integer',
      });
    });
  });

  describe('effects', () => {
    it("sends the text and the settings in the vendor's fields", async () => {
      const options = { prompt_influence: 0.7, loop: true, seed: 1 };
      const stream = await effect({ durationSeconds: 1.5, options });
      expect(vendor.requests[0]).to.include({ path: '/v1/sound-generation', outputFormat: 'mp3_44100_128' });
      expect(vendor.requests[0]?.members).to.deep.equal({
        text: 'Rain on a tin roof',
        model_id: 'eleven_text_to_sound_v2',
        duration_seconds: 1.5,
        prompt_influence: 0.7,
        loop: true,
      });
      expect(stream).to.deep.include({ format: 'mp3', ignored: ['seed'] });
      expect(await soundSeconds(await readAll(stream))).to.be.closeTo(1.5, 0.15);
      expect(await stream.usage).to.deep.equal({ characters: 40 });
    });

    it('requests no raw samples, whose channels are unknown', async () => {
      const formats: SpeechFormat[] = ['wav', 'pcm', 'flac', 'aac', 'opus'];
      const came = await Promise.all(formats.map(async (format) => (await effect({ format })).format));
      expect(came).to.deep.equal(['mp3', 'mp3', 'mp3', 'mp3', 'opus']);
    });

    it("names the route's field for an invalid prompt", async () => {
      vendor.behave([{ does: 'list', issues: [{ loc: ['body', 'text'], msg: 'No.' }] }]);
      expect(await failureOf(effect())).to.include({ code: 'invalid_value', param: 'text' });
    });

    it('refuses invalid settings before it calls the vendor', async () => {
      for (const [name, value] of Object.entries({ prompt_influence: 1.1, loop: 'yes' })) {
        const error = await failureOf(effect({ options: { [name]: value } }));
        expect(error).to.include({ code: 'invalid_value', param: name });
      }
      expect(vendor.requests).to.have.length(0);
    });
  });

  describe('refusals', () => {
    const refuses = (
      code: string,
      status: number,
      form: 'old' | 'new' = 'old',
      more: object = {},
    ): ElevenlabsAnswer => ({
      does: 'error',
      status,
      code,
      form,
      message: `eleven_v3 says no to ${KEY}`,
      ...more,
    });

    const titleOf = (answer: ElevenlabsAnswer) => {
      if (answer.does === 'error') return [answer.status, answer.code, answer.param].filter(Boolean).join(' ');
      return answer.does === 'list' ? `422 about ${answer.issues[0]?.loc.at(-1)}` : answer.does;
    };

    const meant: readonly [answer: ElevenlabsAnswer, ours: string, param: string | undefined][] = [
      [refuses('voice_not_found', 400), 'invalid_value', 'voice'],
      [refuses('voice_not_found', 404, 'new'), 'invalid_value', 'voice'],
      [refuses('max_character_limit_exceeded', 400), 'invalid_value', 'input'],
      [refuses('text_too_long', 400, 'new'), 'invalid_value', 'input'],
      [refuses('invalid_parameters', 400, 'new', { param: 'duration_seconds' }), 'invalid_value', 'duration_seconds'],
      [refuses('content_against_policy', 400), 'moderation_blocked', undefined],
      [{ does: 'list', issues: [{ loc: ['body', 'text'], msg: 'No.' }] }, 'invalid_value', 'input'],
      [{ does: 'list', issues: [{ loc: ['body', 'unheard_of'], msg: 'No.' }] }, 'invalid_value', undefined],
    ];
    for (const [answer, ours, param] of meant) {
      it(`reports to the caller: ${titleOf(answer)}`, async () => {
        vendor.behave([answer]);
        const error = await failureOf(say());
        expect(error).to.include({ code: ours, retryable: false });
        expect(error.param).to.equal(param);
        expect(error.reason).to.equal(answer.does === 'list' ? 'No.' : 'tts_v3 says no to …');
        expect(vendor.requests).to.have.length(1);
      });
    }

    const ours: readonly [answer: ElevenlabsAnswer, code: string][] = [
      [refuses('invalid_api_key', 401), 'upstream_auth_error'],
      [refuses('quota_exceeded', 401), 'upstream_auth_error'],
      [refuses('payment_required', 402, 'new'), 'upstream_auth_error'],
      [refuses('missing_permissions', 403), 'upstream_auth_error'],
      [refuses('model_not_found', 400), 'upstream_error'],
      [refuses('invalid_parameters', 400, 'new', { param: 'model_id' }), 'upstream_error'],
      [{ does: 'text', status: 404, body: '<html>' }, 'upstream_error'],
    ];
    for (const [answer, code] of ours) {
      it(`reports to the operator, after one request: ${titleOf(answer)}`, async () => {
        vendor.behave(() => answer);
        const error = await failureOf(say());
        expect(error).to.include({ code });
        expect(error.reason).to.equal(undefined);
        expect(vendor.requests).to.have.length(1);
        expect(stage.lines.map(({ level, fields }) => [level, fields.code])).to.deep.equal([['error', code]]);
      });
    }

    it('retries a busy vendor, and then reports it', async () => {
      vendor.behave([refuses('too_many_concurrent_requests', 429), refuses('system_busy', 429)]);
      await say();
      expect(vendor.requests).to.have.length(3);
      vendor.reset();
      vendor.behave(() => refuses('concurrent_limit_exceeded', 429, 'new', { headers: { 'retry-after': '1' } }));
      const error = await failureOf(say());
      expect(error).to.include({ code: 'upstream_rate_limited', retryable: true, retryAfterSeconds: 1 });
      expect(vendor.requests).to.have.length(3);
    });

    const paid: Record<string, [ElevenlabsAnswer, string]> = {
      'a reset without an answer': [{ does: 'reset' }, 'upstream_error'],
      'a page in place of a sound': [{ does: 'html' }, 'upstream_changed'],
      'an answer without a byte': [{ does: 'empty' }, 'upstream_changed'],
      'a proxy that gave up waiting': [{ does: 'text', status: 504, body: '' }, 'upstream_timeout'],
    };
    for (const [name, [answer, code]] of Object.entries(paid)) {
      it(`pays once: it does not repeat ${name}`, async () => {
        for (const make of [say, change, effect]) {
          vendor.reset();
          vendor.behave([answer]);
          expect(await failureOf(make())).to.include({ code });
          expect(vendor.requests).to.have.length(1);
        }
      });
    }

    it('ends with an error when the vendor breaks off', async () => {
      vendor.behave([{ does: 'half', after: 'reset' }]);
      expect(await failureOf(say().then(readAll))).to.include({ code: 'upstream_error' });
    });
  });

  it('closes the connection of a listener who leaves', async () => {
    const made = [say, change, effect] as const;
    for (const answer of [{ does: 'stall' }, { does: 'half', after: 'silence' }] satisfies ElevenlabsAnswer[]) {
      for (const make of made) {
        vendor.reset();
        vendor.behave([answer]);
        const leaving = new AbortController();
        const gone = new Error('the caller left');
        const listening = make({ signal: leaving.signal }).then(readAll);
        while (vendor.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        await new Promise((resolve) => setTimeout(resolve, 50));
        leaving.abort(gone);
        expect(await rejection(listening)).to.equal(gone);
        await vendor.requests[0]?.abandoned;
      }
    }
  });
});
