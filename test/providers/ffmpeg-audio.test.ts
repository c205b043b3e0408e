/** The ffmpeg audio provider with the real ffmpeg. */

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type AudioInputFile, type AudioProvider, type AudioStream, createGateway, type Gateway } from 'mediagate';
import ffmpegAudio from '../../plugins/ffmpeg_audio/index.js';
import { SOUNDS } from '../../plugins/ffmpeg_audio/sounds.js';
import { ffmpegPath, runFfmpeg } from '../support/audio/ffmpeg.js';
import { rejection } from '../support/rejection.js';
import { variants } from '../support/runner/variants.js';

const RATE = 24_000;

interface Heard {
  seconds: number;
  /** Root of the mean square, 0 to 1. */
  loudness: number;
  /** Of the energy, the shares below 300 Hz and above 3 kHz. */
  readonly low: number;
  readonly high: number;
  samples: Float64Array;
}

describe('ffmpeg_audio with ffmpeg', () => {
  let gateway: Gateway;
  let folder: string;
  let effects: Required<Pick<AudioProvider, 'generateSound'>>;
  let changer: Required<Pick<AudioProvider, 'changeVoice'>>;
  const { signal } = new AbortController();

  before(async function () {
    if (!ffmpegPath) this.skip();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-sounds-'));
    gateway = await createGateway({ plugins: [{ use: ffmpegAudio, required: true }], ffmpegPath });
    effects = gateway.audioProvider('tts_text_to_sound_v2', 'generateSound') as typeof effects;
    changer = gateway.audioProvider('tts_multilingual_sts_v2', 'changeVoice') as typeof changer;
  });

  after(async () => {
    await gateway?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const make = async (text: string, durationSeconds?: number) =>
    collect(
      await effects.generateSound({
        model: 'tts_text_to_sound_v2',
        text,
        durationSeconds,
        format: 'mp3',
        options: {},
        signal,
      }),
    );

  for (const { name, seconds } of variants(SOUNDS, ({ name: one }) => one === SOUNDS[0]?.name)) {
    it(`makes ${name} of the requested length, and the same for the same words`, async () => {
      const [own, short] = [await make(name), await make(name, 1.5)];
      expect(own.seconds).to.be.closeTo(seconds, 0.001);
      expect(short.seconds).to.be.closeTo(1.5, 0.001);
      expect(own.loudness).to.be.within(0.01, 0.6);
      expect([...(await make(name, 1.5)).samples]).to.deep.equal([...short.samples]);
    });
  }

  it('makes different noise for other words of the same kind', async () => {
    const [one, other] = [await make('rain', 1), await make('more rain', 1)];
    expect([...one.samples]).not.to.deep.equal([...other.samples]);
  });

  it('makes recognizable sound effects', async () => {
    const heard = Object.fromEntries(
      await Promise.all(SOUNDS.map(async ({ name }) => [name, await make(name, 3)] as const)),
    );
    const of = (name: string) => heard[name] as Heard;
    for (const { name } of SOUNDS) {
      expect(of(name).seconds, name).to.be.closeTo(3, 0.001);
      expect(of(name).loudness, name).to.be.within(0.01, 0.6);
    }
    for (const name of ['thunder', 'heartbeat', 'engine', 'explosion']) expect(of(name).low, name).to.be.above(0.5);
    for (const name of ['rain', 'static', 'click', 'birds']) expect(of(name).low, name).to.be.below(0.1);
    for (const name of ['static', 'click', 'birds']) expect(of(name).high, name).to.be.above(0.4);
    expect(pitchOf(of('beep').samples.subarray(500, 5_500))).to.be.closeTo(1_000, 20);
    // A siren goes up and down, a telephone has its two tones and its pauses, a bell fades, an explosion too.
    const siren = [0, 0.5, 1, 1.5].map((second) => pitchOf(partOf(of('siren'), second, 0.1)));
    expect(Math.max(...siren) - Math.min(...siren)).to.be.above(300);
    expect(loudnessOf(partOf(of('telephone'), 2, 0.5))).to.be.below(loudnessOf(partOf(of('telephone'), 1, 0.5)) / 20);
    for (const name of ['bell', 'explosion']) {
      expect(loudnessOf(partOf(of(name), 2.5, 0.4)), name).to.be.below(loudnessOf(partOf(of(name), 0.1, 0.4)) / 3);
    }
  });

  it('mixes the sound effects that a prompt names', async () => {
    const [thunder, both] = [await make('thunder', 3), await make('thunder and static', 3)];
    expect(thunder.high).to.be.below(0.05);
    expect(both.high).to.be.above(thunder.high * 2);
  });

  const voiceOf = async (audio: AudioInputFile, voice: string, options = {}) => {
    const stream = await changer.changeVoice({
      model: 'tts_multilingual_sts_v2',
      audio,
      voice,
      format: 'mp3',
      options,
      signal,
    });
    return { ...(await collect(stream)), ignored: stream.ignored };
  };

  it('moves a voice up or down, and keeps its length', async () => {
    const sound = await tone(folder, 3);
    for (const [voice, factor] of [
      ['onyx', 0.72],
      ['alloy', 1.12],
      ['Shimmer', 1.4],
    ] as const) {
      const { seconds, samples, loudness } = await voiceOf(sound, voice);
      expect(seconds, voice).to.be.closeTo(3, 0.1);
      expect(pitchOf(samples.subarray(12_000, 48_000)), voice).to.be.closeTo(200 * factor, 4);
      expect(loudness, voice).to.be.above(0.02);
    }
  });

  it('lists what it ignores, and refuses unknown voices and lengths', async () => {
    const sound = await tone(folder, 1);
    expect((await voiceOf(sound, 'nova', { seed: '7', voice_settings: '{}' })).ignored).to.deep.equal([
      'seed',
      'voice_settings',
    ]);
    const unknown = await rejection(voiceOf(sound, '21m00Tcm4TlvDq8ikWAM'));
    expect(unknown).to.include({ code: 'unsupported_value', param: 'voice' });
    const lying = { ...(await tone(folder, 301)), seconds: 1 };
    expect(await rejection(voiceOf(lying, 'nova'))).to.include({ code: 'invalid_value', param: 'audio' });
    const long = await rejection(voiceOf({ ...sound, seconds: 301 }, 'nova'));
    expect(long).to.include({ code: 'invalid_value', param: 'audio' });
    const unsaid = await rejection(voiceOf(await tone(folder, 302), 'nova'));
    expect(unsaid, 'which nobody says').to.include({ code: 'invalid_value', param: 'audio' });
  });

  it('reports a file without audio before it answers', async () => {
    const sound = { ...(await tone(folder, 1)), path: import.meta.filename };
    expect(await rejection(voiceOf(sound, 'nova'))).to.include({ code: 'audio_unavailable' });
  });

  it('ends ffmpeg when the reader leaves', async () => {
    const leaving = new AbortController();
    const gone = new Error('the caller left');
    const call = { model: 'x', text: 'wind', durationSeconds: 30, format: 'mp3', options: {} } as const;
    const { body } = await effects.generateSound({ ...call, signal: leaving.signal });
    leaving.abort(gone);
    const error = await rejection(collect({ body, format: 'pcm' }));
    expect(error).to.equal(gone);
    // As many as may run at a time are left in the middle; if one of them stayed, nothing more could be made.
    for (let count = 0; count < 20; count += 1) {
      const { body: left } = await effects.generateSound({ ...call, signal });
      const reading = left[Symbol.asyncIterator]();
      await reading.next();
      await reading.return?.();
    }
    expect((await make('beep')).seconds).to.equal(1);
  });
});

async function tone(folder: string, seconds: number): Promise<AudioInputFile> {
  const file = path.join(folder, `tone-${seconds}.mp3`);
  await runFfmpeg(
    '-f',
    'lavfi',
    '-i',
    `sine=frequency=200:duration=${seconds}`,
    ...(seconds > 9 ? ['-ar', '8000'] : []),
    file,
  );
  return { path: file, size: (await stat(file)).size, contentType: 'audio/mpeg', filename: 'sound.mp3' };
}

async function collect({ body, format }: AudioStream): Promise<Heard> {
  expect(format).to.equal('pcm');
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const samples = Float64Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readInt16LE(2 * index) / 32_768);
  const energy = loudnessOf(samples) ** 2;
  return {
    seconds: samples.length / RATE,
    loudness: Math.sqrt(energy),
    // Filters compute much longer than the rest, and few tests ask for them.
    get low() {
      return loudnessOf(lowPassed(samples, 300)) ** 2 / energy;
    },
    get high() {
      const below3000 = lowPassed(samples, 3_000);
      return loudnessOf(samples.map((value, index) => value - (below3000[index] as number))) ** 2 / energy;
    },
    samples,
  };
}

/** Two poles, one after the other. */
function lowPassed(samples: Float64Array, hertz: number): Float64Array {
  const share = 1 - Math.exp((-2 * Math.PI * hertz) / RATE);
  let [first, second] = [0, 0];
  return samples.map((value) => {
    first += share * (value - first);
    second += share * (first - second);
    return second;
  });
}

function loudnessOf(samples: Float64Array): number {
  return Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);
}

function partOf({ samples }: Heard, second: number, length: number): Float64Array {
  return samples.subarray(second * RATE, (second + length) * RATE);
}

/** Hertz of a single tone, by how often it crosses zero. */
function pitchOf(samples: Float64Array): number {
  let crossings = 0;
  for (let index = 1; index < samples.length; index += 1) {
    if ((samples[index - 1] as number) < 0 && (samples[index] as number) >= 0) crossings += 1;
  }
  return (crossings * RATE) / samples.length;
}
