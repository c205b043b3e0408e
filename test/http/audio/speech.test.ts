/** Speech, voice changes and sound effects over HTTP. */

import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import type { EventSourceMessage } from 'eventsource-parser';
import {
  type ChangeVoiceCall,
  GatewayError,
  type GenerateSoundCall,
  type SpeakCall,
  type SpeechFormat,
} from 'mediagate';
import ffmpegAudio from 'mediagate/plugins/ffmpeg_audio';
import { runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { CHANGING, EFFECTS, HEARING, SPEAKING, SPEAKING_LONG, tonePieces } from '../../support/audio/invented-audio.js';
import { hearSound, makeSound, tonePcm } from '../../support/audio/sounds.js';
import { readEvents } from '../../support/models/event-reading.js';
import { namedVariants } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { startApp } from '../http/listening-app.js';
import { type AudioApp, fileOf, startAudioApp } from './client.js';

const SPEECH = '/v1/audio/speech';
const HELLO = { model: SPEAKING, input: 'Hello there.', voice: 'alloy' };

interface Exact {
  type: string;
  codec: string;
  rate: number;
  /** How a reader is told what bare samples are. */
  input?: readonly string[];
}

const FORMATS: Readonly<Record<SpeechFormat, Exact>> = {
  mp3: { type: 'audio/mpeg', codec: 'mp3', rate: 44_100 },
  opus: { type: 'audio/ogg; codecs=opus', codec: 'opus', rate: 48_000 },
  aac: { type: 'audio/aac', codec: 'aac', rate: 44_100 },
  flac: { type: 'audio/flac', codec: 'flac', rate: 24_000 },
  wav: { type: 'audio/wav', codec: 'pcm_s16le', rate: 24_000 },
  pcm: { type: 'audio/pcm', codec: 'pcm_s16le', rate: 24_000, input: ['-f', 's16le', '-ar', '24000', '-ac', '1'] },
};

describe('speech over HTTP', () => {
  let app: AudioApp;

  before(async () => {
    app = await startAudioApp();
  });
  after(() => app.close());
  beforeEach(() => {
    app.audio.calls.length = 0;
    app.audio.sound = () => ({ body: tonePieces(), format: 'pcm' });
  });

  async function speak(body: Record<string, unknown> = {}, target = SPEECH) {
    const response = await fetch(app.url + target, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...HELLO, ...body }),
    });
    return { response, bytes: Buffer.from(await response.arrayBuffer()) };
  }

  async function hear(bytes: Uint8Array, input: readonly string[] = []) {
    const file = path.join(app.folder, 'heard.bin');
    await writeFile(file, bytes);
    return hearSound(file, ...input);
  }

  async function made(format: SpeechFormat, ...coding: readonly string[]): Promise<Buffer> {
    const file = path.join(app.folder, `made.${format}`);
    const muxers = { opus: 'ogg', aac: 'adts', pcm: 's16le', mp3: 'mp3', flac: 'flac', wav: 'wav' };
    await runFfmpeg(...tone(1), ...coding, '-f', muxers[format], file);
    return readFile(file);
  }

  for (const [format, exact] of Object.entries(FORMATS)) {
    it(`returns valid ${format} from the samples of a model`, async () => {
      const { response, bytes } = await speak({ response_format: format });
      expect(response.status).to.equal(200);
      expect(response.headers.get('content-type')).to.equal(exact.type);
      expect(response.headers.get('x-mediagate-stand-in')).to.equal('parrot');
      const heard = await hear(bytes, exact.input);
      expect(heard).to.include({ codec: exact.codec, rate: exact.rate, channels: 'mono' });
      expect(heard.seconds).to.be.closeTo(1, 0.12);
      expect(heard.crossings).to.be.closeTo(880, 40);
    });
  }

  it('passes audio of the requested format through unchanged', async () => {
    for (const [format, coding] of [
      ['mp3', ['-ar', '22050']],
      ['opus', ['-c:a', 'libopus']],
      ['pcm', ['-ar', '24000']],
    ] as const) {
      const sound = await made(format, ...coding);
      app.audio.sound = () => ({ body: pieces(sound), format });
      expect((await speak({ response_format: format })).bytes.equals(sound), format).to.equal(true);
    }
  });

  for (const from of ['mp3', 'opus', 'aac', 'flac', 'wav'] as const) {
    it(`brings ${from} of a model into every other format`, async () => {
      const sound = await made(from, ...(from === 'wav' ? ['-ar', '16000'] : []));
      for (const [format, exact] of namedVariants(FORMATS, from === 'wav' ? Object.keys(FORMATS) : ['pcm'])) {
        app.audio.sound = () => ({ body: pieces(sound), format: from });
        const { bytes } = await speak({ response_format: format });
        const heard = await hear(bytes, exact.input);
        if (from !== format || format === 'wav')
          expect(heard, format).to.include({ codec: exact.codec, rate: exact.rate });
        expect(heard.seconds, format).to.be.closeTo(1, 0.15);
        expect(heard.crossings, format).to.be.closeTo(880, 60);
      }
    });
  }

  it("passes a WAV of the gateway's own form through unchanged", async () => {
    const sound = await made('wav', '-ar', '24000', '-ac', '1');
    app.audio.sound = () => ({ body: pieces(sound), format: 'wav' });
    expect((await speak({ response_format: 'wav' })).bytes.equals(sound)).to.equal(true);
  });

  it('makes MP3 by default, and forwards voice, pace and instructions', async () => {
    const { response } = await speak({
      voice: { id: 'voice_1' },
      speed: 1.5,
      instructions: 'softly',
      user: 'u',
      x: null,
    });
    expect(response.headers.get('content-type')).to.equal('audio/mpeg');
    const call = app.audio.calls[0] as SpeakCall;
    expect(call).to.deep.include({
      model: SPEAKING,
      input: 'Hello there.',
      voice: 'voice_1',
      format: 'mp3',
      speed: 1.5,
      instructions: 'softly',
    });
    await speak();
    expect(app.audio.calls[1]).to.include({ speed: 1 }).and.not.have.property('instructions');
  });

  for (const format of ['pcm', 'mp3', 'opus', 'wav'] as const) {
    it(`sends the first bytes of ${format} before the audio is finished`, async () => {
      const rest = Promise.withResolvers<void>();
      app.audio.sound = () => ({ body: halting(rest.promise), format: 'pcm' });
      const response = await fetch(app.url + SPEECH, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...HELLO, response_format: format }),
      });
      const reader = response.body?.getReader();
      expect((await reader?.read())?.value?.length).to.be.above(0);
      rest.resolve();
      while (!(await reader?.read())?.done) {}
    });
  }

  it('sends events: the audio in base64, then the usage', async () => {
    app.audio.sound = () => ({ body: tonePieces(), format: 'pcm', usage: Promise.resolve({ characters: 12 }) });
    const { response, bytes } = await speak({ stream_format: 'sse', response_format: 'pcm' });
    expect(response.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
    const events = bytes
      .toString()
      .split('\n\n')
      .filter(Boolean)
      .map((one) => JSON.parse(one.replace(/^data: /, '')));
    const deltas = events.filter(({ type }) => type === 'speech.audio.delta');
    expect(Buffer.concat(deltas.map(({ audio }) => Buffer.from(audio, 'base64'))).equals(tonePcm(1))).to.equal(true);
    expect(events.at(-1)).to.deep.equal({ type: 'speech.audio.done', usage: { characters: 12 } });
  });

  it('ends events with the error when the model breaks off, and cuts plain audio', async () => {
    app.audio.sound = () => ({ body: breaking(), format: 'pcm' });
    const response = await fetch(app.url + SPEECH, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...HELLO, stream_format: 'sse', response_format: 'pcm' }),
    });
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk);
    } catch {
      // The connection may end after the last event.
    }
    const last = JSON.parse(
      text
        .trim()
        .split('\n\n')
        .at(-1)
        ?.replace(/^data: /, '') ?? '',
    );
    expect(last).to.deep.include({ type: 'error' });
    expect(last.error).to.include({ code: 'upstream_error' });
    for (const format of ['pcm', 'mp3']) {
      const heard = Promise.withResolvers<void>();
      app.audio.sound = () => ({ body: breaking(heard.promise), format: 'pcm' });
      const cut = await fetch(app.url + SPEECH, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...HELLO, response_format: format }),
      });
      const reader = cut.body?.getReader();
      expect((await reader?.read())?.value?.length, format).to.be.above(0);
      heard.resolve();
      const readOn = async () => {
        while (!(await reader?.read())?.done) {}
      };
      expect(await readOn().catch((error: Error) => error), format).to.be.instanceOf(Error);
    }
  });

  it('ends audio of a revoked key with an error event, and the wait of a repeated request', async () => {
    for (const repeats of [false, true]) {
      const key = await app.makeKey({ grants: ['audio'] });
      let signal: AbortSignal | undefined;
      app.audio.sound = (_format, asked) => {
        signal = asked;
        return { body: stalling(), format: 'pcm' };
      };
      const send = () =>
        fetch(app.url + SPEECH, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            ...(repeats && { 'idempotency-key': 'the-same' }),
          },
          body: JSON.stringify({ ...HELLO, stream_format: 'sse', response_format: 'pcm' }),
        });
      const events: EventSourceMessage[] = [];
      const ended = readEvents(await send(), events);
      await until(() => events.length > 0);
      const waiting = repeats ? send() : undefined;
      await app.state.keys.revoke(key.slice('sk-mg-'.length, 'sk-mg-'.length + 8), Date.now());
      await ended;
      const last = JSON.parse(events.at(-1)?.data ?? '');
      expect([last.type, last.error.code]).to.deep.equal(['error', 'revoked_api_key']);
      expect(signal?.aborted).to.equal(true);
      expect((await waiting)?.status ?? 401).to.equal(401);
    }
  });

  it('returns the error when the model returns no audio, or something else', async () => {
    app.audio.sound = () => ({ body: pieces(Buffer.alloc(0)), format: 'mp3' });
    expect((await app.post(SPEECH, HELLO)).json.error.code).to.equal('upstream_changed');
    for (const response_format of ['wav', 'mp3', 'pcm']) {
      app.audio.sound = () => ({ body: pieces(Buffer.alloc(40_000, '<html>')), format: 'flac' });
      const { status, json } = await app.post(SPEECH, { ...HELLO, response_format });
      expect([status, json.error.code], response_format).to.deep.equal([502, 'upstream_changed']);
    }
    app.audio.sound = () => {
      throw new GatewayError('upstream_auth_error', 'The account of the gateway was refused.');
    };
    expect((await app.post(SPEECH, HELLO)).status).to.equal(502);
  });

  for (const format of ['pcm', 'mp3'] as const) {
    it(`aborts the model when the client disconnects, in the middle of ${format}`, async () => {
      const asked = Promise.withResolvers<AbortSignal>();
      app.audio.sound = (_format, signal) => {
        asked.resolve(signal);
        return { body: halting(new Promise(() => undefined)), format: 'pcm' };
      };
      const leaving = new AbortController();
      const response = await fetch(app.url + SPEECH, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...HELLO, response_format: format }),
        signal: leaving.signal,
      });
      const reader = response.body?.getReader();
      await reader?.read();
      const signal = await asked.promise;
      expect(signal.aborted).to.equal(false);
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      leaving.abort();
      await aborted;
    });
  }

  const refusals: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['no input', { input: undefined }, 'input'],
    ['blank input', { input: ' \n' }, 'input'],
    ['a long input', { input: 'x'.repeat(4_097) }, 'input'],
    ['no voice', { voice: undefined }, 'voice'],
    ['a voice without an id', { voice: {} }, 'voice'],
    ['another format', { response_format: 'ogg' }, 'response_format'],
    ['too slow', { speed: 0.2 }, 'speed'],
    ['a text for a speed', { speed: '1' }, 'speed'],
    ['another stream', { stream_format: 'ws' }, 'stream_format'],
    ['no model', { model: null }, 'model'],
    ['a model that hears', { model: HEARING }, 'model'],
    ['an unknown model', { model: 'tts-1' }, 'model'],
  ];
  for (const [what, body, param] of refusals) {
    it(`refuses ${what}`, async () => {
      const { status, json } = await app.post(SPEECH, { ...HELLO, ...body });
      expect([status, json.error.param]).to.deep.equal([what.startsWith('an unknown') ? 404 : 400, param]);
      expect(app.audio.calls).to.have.length(0);
    });
  }

  it('accepts 4,096 characters of any kind', async () => {
    expect((await speak({ input: '🦜'.repeat(4_096) })).response.status).to.equal(200);
  });

  it('lists ignored fields in a short header', async () => {
    const others = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`other_${index}`, 1]));
    expect((await speak({ seed: 7, lang: 'de' })).response.headers.get('x-ignored-params')).to.equal('seed, lang');
    const { response } = await speak({ ['x'.repeat(2_000)]: 1, ...others });
    expect(response.headers.get('x-ignored-params')?.split(', ')).to.have.length(20);
  });

  it('accepts as many characters as the model, and states the limit', async () => {
    const model = SPEAKING_LONG;
    expect((await speak({ model, input: '🦜'.repeat(10_000) })).response.status).to.equal(200);
    const asked = app.audio.calls.length;
    const { status, json } = await app.post(SPEECH, { ...HELLO, model, input: 'x'.repeat(10_001) });
    expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', 'input']);
    expect(json.error.message).to.contain('1 to 10000 characters');
    expect(app.audio.calls).to.have.length(asked);
  });

  it('lists what the model ignored', async () => {
    app.audio.sound = () => ({ body: tonePieces(), format: 'pcm', ignored: ['instructions', 'speed'] });
    expect((await speak()).response.headers.get('x-ignored-params')).to.equal('instructions, speed');
  });

  describe('voice changer', () => {
    const CHANGER = '/v1/audio/voice-changer';

    it('forwards audio, voice and all other fields', async () => {
      const wav = await makeSound(app.folder, 'wav');
      for (const [field, named] of [
        ['audio', 'voice'],
        ['file', 'voice_id'],
      ] as const) {
        const fields = {
          [field]: fileOf(wav),
          [named]: 'rachel',
          model: CHANGING,
          seed: '7',
          voice_settings: '{"a":1}',
        };
        const { status, headers } = await app.send(CHANGER, fields);
        expect([status, headers.get('content-type')]).to.deep.equal([200, 'audio/mpeg']);
        const call = app.audio.calls.at(-1) as ChangeVoiceCall;
        expect(call).to.deep.include({ voice: 'rachel', options: { seed: '7', voice_settings: '{"a":1}' } });
        expect(call.audio).to.include({ filename: 'sound.wav', size: wav.length });
      }
    });

    it('refuses audio that is too short for a voice, and names the field', async () => {
      const real = await startApp({ gateway: { plugins: [{ use: ffmpegAudio, timeoutMs: 60_000 }] } });
      try {
        const key = await real.makeKey({ grants: ['audio'] });
        const send = async (samples: number) => {
          const body = new FormData();
          body.append('model', 'tts_multilingual_sts_v2');
          body.append('voice', 'onyx');
          body.append('audio', fileOf(shortWav(samples)));
          const headers = { authorization: `Bearer ${key}` };
          return real.request(CHANGER, { method: 'POST', headers, body });
        };
        for (const samples of [0, 1, 9, 50]) {
          const { status, json } = await send(samples);
          const { code, param } = json?.error ?? {};
          expect([status, code, param], String(samples)).to.deep.equal([400, 'invalid_value', 'audio']);
        }
        expect((await send(24_000)).status).to.equal(200);
      } finally {
        await real.close();
      }
    });

    it('keeps the uploaded audio until the last byte is sent', async () => {
      const wav = await makeSound(app.folder, 'wav');
      app.audio.sound = () => {
        const { audio } = app.audio.calls.at(-1) as ChangeVoiceCall;
        return { body: readLate(audio.path), format: 'mp3' };
      };
      const body = new FormData();
      for (const [name, value] of Object.entries({ voice: 'x', model: CHANGING })) body.append(name, value);
      body.append('audio', fileOf(wav));
      const headers = { authorization: `Bearer ${app.key}` };
      const response = await fetch(app.url + CHANGER, { method: 'POST', headers, body });
      expect(
        Buffer.from(await response.arrayBuffer())
          .subarray(5)
          .equals(wav),
      ).to.equal(true);
    });

    it('refuses missing and repeated fields', async () => {
      const wav = fileOf(await makeSound(app.folder, 'wav'));
      const good = { audio: wav, voice: 'x', model: CHANGING };
      for (const [change, param] of [
        [{ voice: '' }, 'voice'],
        [{ voice_id: 'y' }, 'voice'],
        [{ model: '' }, 'model'],
        [{ model: SPEAKING }, 'model'],
        [{ file: wav }, 'file'],
        [{ response_format: 'ogg' }, 'response_format'],
      ] as const) {
        const { status, json } = await app.send(CHANGER, { ...good, ...change });
        expect([status, json.error.param]).to.deep.equal([400, param]);
      }
      const without = await app.send(CHANGER, { voice: 'x', model: CHANGING });
      expect(without.json.error).to.include({ code: 'missing_required_parameter', param: 'audio' });
    });
  });

  describe('sound effects', () => {
    const SOUNDS = '/v1/audio/sound-effects';

    it('reads the description under any of its names, and forwards the rest', async () => {
      for (const name of ['text', 'input', 'prompt']) {
        const body = { model: EFFECTS, [name]: 'rain', duration_seconds: 4.5, loop: true, prompt_influence: 0.3 };
        const { status, headers } = await app.post(SOUNDS, body);
        expect([status, headers.get('content-type')]).to.deep.equal([200, 'audio/mpeg']);
        const call = app.audio.calls.at(-1) as GenerateSoundCall;
        expect(call).to.deep.include({
          text: 'rain',
          durationSeconds: 4.5,
          options: { loop: true, prompt_influence: 0.3 },
        });
      }
      await app.post(SOUNDS, { model: EFFECTS, text: 'rain', duration: 2, response_format: 'flac' });
      expect(app.audio.calls.at(-1)).to.include({ durationSeconds: 2, format: 'flac' });
    });

    it('advises against a retry for effects that no model makes', async () => {
      app.audio.sound = () => {
        throw new GatewayError('plugin_unavailable', 'There is no such sound.', { param: 'text', retryable: false });
      };
      const { status, headers } = await app.post(SOUNDS, { model: EFFECTS, text: 'dog bark' });
      expect([status, headers.get('x-should-retry'), headers.get('retry-after')]).to.deep.equal([503, 'false', null]);
      app.audio.sound = () => {
        throw new GatewayError('plugin_unavailable', 'There is none now.');
      };
      const later = await app.post(SOUNDS, { model: EFFECTS, text: 'dog bark' });
      expect([later.headers.get('x-should-retry'), later.headers.get('retry-after')]).to.deep.equal([null, '1']);
    });

    it('refuses no description, two, and lengths out of range', async () => {
      for (const [body, code, param] of [
        [{}, 'missing_required_parameter', 'text'],
        [{ text: 'a', prompt: 'b' }, 'invalid_value', 'text'],
        [{ text: 'a', duration: 0.4 }, 'invalid_value', 'duration'],
        [{ text: 'a', duration_seconds: 31 }, 'invalid_value', 'duration_seconds'],
        [{ text: 'a', duration_seconds: 3, duration: 3 }, 'invalid_value', 'duration_seconds'],
      ] as const) {
        const { status, json } = await app.post(SOUNDS, { model: EFFECTS, ...body });
        expect([status, json.error.code, json.error.param]).to.deep.equal([400, code, param]);
      }
    });
  });
});

async function* pieces(sound: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < sound.length; at += 3_000) yield sound.subarray(at, at + 3_000);
}

/** Half of a sound, and the rest when the test has it so. */
async function* halting(rest: Promise<void>): AsyncGenerator<Uint8Array> {
  yield tonePcm(2);
  await rest;
  yield tonePcm(2);
}

async function* stalling(): AsyncGenerator<Uint8Array> {
  yield tonePcm(2);
  await new Promise(() => {});
}

/** @param heard When it breaks off. */
async function* breaking(heard?: Promise<void>): AsyncGenerator<Uint8Array> {
  yield tonePcm(2);
  await heard;
  throw new GatewayError('upstream_error', 'The model broke off.');
}

async function* readLate(file: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from('first');
  await new Promise((resolve) => setTimeout(resolve, 50));
  yield await readFile(file);
}

/** So many samples of 16 bits, 24,000 a second. */
function shortWav(samples: number): Buffer {
  const wav = Buffer.alloc(44 + samples * 2, 1);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(36 + samples * 2, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(24_000, 24);
  wav.writeUInt32LE(48_000, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(samples * 2, 40);
  return wav;
}
