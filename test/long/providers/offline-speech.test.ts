/** Offline speech with its real engines. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { engines } from '../../../plugins/offline_speech/engines.js';
import { residentMegabytes } from '../../bench/measure.js';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { type OfflineSpeech, openOfflineSpeech, SPEECH_RATE } from '../../support/audio/offline-speech.js';
import { countWordErrors } from '../../support/audio/word-errors.js';
import { rejection } from '../../support/rejection.js';

const SECOND = SPEECH_RATE * 2;
const SENTENCES = [
  'We counted seven white boats beside the old pier.',
  'The library closes early on Friday afternoons.',
  'Turn left at the bakery and follow the narrow street.',
];

describe('offline_speech with its engines', function () {
  this.timeout(240_000);
  let speech: OfflineSpeech;

  before(async function () {
    if (!ffmpegPath) this.skip();
    speech = await openOfflineSpeech({ maxSeconds: 600 });
  });

  after(() => speech?.close());

  for (const sentence of SENTENCES) {
    it(`transcribes "${sentence}" as it was spoken`, async () => {
      const { text, language, durationSeconds, segments } = await speech.transcribe(await speech.speak(sentence));
      expect(countWordErrors(sentence, text).errors, text).to.equal(0);
      expect(language).to.equal('english');
      expect(durationSeconds).to.be.within(2, 6);
      expect(segments.length).to.equal(1);
    });
  }

  it('returns the times of each part', async () => {
    const silence = Buffer.alloc(2 * SECOND);
    const spoken = [];
    for (const sentence of SENTENCES) spoken.push(await speech.speak(sentence));
    const { segments, text } = await speech.transcribe(Buffer.concat(spoken.flatMap((samples) => [silence, samples])));
    expect(segments.length).to.equal(3);
    expect(text).to.equal(segments.map((segment) => segment.text).join(' '));
    let start = 0;
    for (const [index, segment] of segments.entries()) {
      start += 2;
      const end = start + (spoken[index]?.length ?? 0) / SECOND;
      expect(segment.start).to.be.within(start - 0.05, start + 0.6);
      expect(segment.end).to.be.within(end - 0.8, end + 0.05);
      expect(segment.details?.averageLogProbability).to.be.within(-1, 0);
      start = end;
    }
  });

  it('speaks at the requested pace, with each voice, and the same each time', async () => {
    const [sentence = ''] = SENTENCES;
    const normal = await speech.speak(sentence);
    for (const speed of [0.25, 0.5, 2, 4]) {
      const { length } = await speech.speak(sentence, { speed });
      expect((length * speed) / normal.length).to.be.closeTo(1, 0.15);
    }
    expect(normal.equals(await speech.speak(sentence))).to.equal(true);
    const voices = await Promise.all(['slt', 'rms', 'awb', 'kal'].map((voice) => speech.speak(sentence, { voice })));
    expect(new Set(voices.map((samples) => samples.toString('base64'))).size).to.equal(4);
  });

  it('sends the first sentence before the others are spoken', async () => {
    const { body, format } = await speech.speaks.speak({
      model: 'tts_v3',
      input: SENTENCES.join(' '),
      voice: 'alloy',
      format: 'mp3',
      speed: 1,
      instructions: 'Whisper.',
      signal: new AbortController().signal,
    });
    expect(format).to.equal('pcm');
    const lengths = [];
    for await (const chunk of body) lengths.push(chunk.length / SECOND);
    expect(lengths.length).to.equal(3);
  });

  it('transcribes five minutes of silence as nothing, with their length', async () => {
    const result = await speech.transcribe(Buffer.alloc(300 * SECOND));
    expect(result).to.deep.include({ text: '', segments: [], durationSeconds: 300 });
  });

  it('refuses audio above its maximum, stated or measured', async () => {
    const sound = await speech.keep(Buffer.alloc(601 * SECOND));
    const call = { model: 'stt-large-v3', signal: new AbortController().signal };
    for (const seconds of [undefined, 601]) {
      const error = await rejection(speech.hears.transcribe({ ...call, audio: { ...sound, seconds } }));
      expect(error).to.include({ code: 'invalid_value', param: 'file' });
    }
  });

  it('refuses other languages and word times, and lists what it ignores', async () => {
    const samples = await speech.speak('Yes.');
    expect(await rejection(speech.transcribe(samples, { language: 'vi' }))).to.include({
      code: 'unsupported_value',
      param: 'language',
    });
    expect(await rejection(speech.transcribe(samples, { granularity: 'word' }))).to.include({
      code: 'unsupported_value',
    });
    const { ignored } = await speech.transcribe(samples, { language: 'en', prompt: 'Names: Ann', temperature: 0.4 });
    expect(ignored).to.deep.equal(['prompt', 'temperature']);
  });

  it('translates English into English, and refuses unintelligible audio', async () => {
    const spoken = await speech.speak(SENTENCES.join(' '));
    const backwards = Buffer.alloc(spoken.length);
    for (let at = 0; at < spoken.length; at += 2)
      backwards.writeInt16LE(spoken.readInt16LE(spoken.length - 2 - at), at);
    const call = { model: 'stt-large-v3', signal: new AbortController().signal };
    const { text } = await speech.hears.translate({ ...call, audio: await speech.keep(spoken) });
    expect(countWordErrors(SENTENCES.join(' '), text).errors).to.be.below(3);
    const error = await rejection(speech.hears.translate({ ...call, audio: await speech.keep(backwards) }));
    expect(error).to.include({ code: 'unsupported_value', param: 'file' });
  });

  it('explains a file without audio', async () => {
    const sound = await speech.keep(Buffer.alloc(0));
    const call = { model: 'stt-large-v3', signal: new AbortController().signal };
    const error = await rejection(
      speech.hears.transcribe({ ...call, audio: { ...sound, path: import.meta.filename } }),
    );
    expect(error).to.be.instanceOf(GatewayError).and.to.include({ code: 'audio_unavailable', retryable: false });
  });

  it('lets a caller leave at once, and serves the next', async () => {
    const [sentence = ''] = SENTENCES;
    const samples = await speech.speak(sentence);
    const long = Buffer.concat(Array.from({ length: 20 }, () => samples));
    const leaving = new AbortController();
    const gone = new Error('the caller left');
    const left = rejection(speech.transcribe(long, { signal: leaving.signal }));
    await sleep(500);
    leaving.abort(gone);
    expect(await left).to.equal(gone);
    expect(countWordErrors(sentence, (await speech.transcribe(samples)).text).errors).to.equal(0);
  });

  it('refuses only the seventeenth simultaneous call', async () => {
    const samples = await speech.speak('Yes, please.');
    const outcomes = await Promise.allSettled(Array.from({ length: 17 }, () => speech.transcribe(samples)));
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
    expect(refused).to.deep.equal(['queue_full']);
    await speech.transcribe(samples);
  });

  it('frees the place of audio that is never read', async () => {
    const call = { model: 'tts_v3', input: 'One. Two.', voice: 'slt', format: 'pcm', speed: 1 } as const;
    for (let count = 0; count < 40; count += 1) {
      const leaving = new AbortController();
      const { body } = await speech.speaks.speak({ ...call, signal: leaving.signal });
      if (count % 2 === 0) await body[Symbol.asyncIterator]().return?.();
      else leaving.abort();
    }
    // More than there are places, and all of them at once.
    const said = await Promise.all(Array.from({ length: 16 }, () => speech.speak('Yes.')));
    for (const samples of said) expect(samples.length).to.be.greaterThan(1_000);
  });

  it('fails cleanly when the engine crashes, and starts a new one', async () => {
    const [sentence = ''] = SENTENCES;
    const samples = await speech.speak(sentence);
    // No samples, which is no order at all: the process ends with an error that nobody catches.
    const broken = rejection(engines.hearing.run(null as never, new AbortController().signal));
    expect(await broken).to.include({ code: 'plugin_unavailable', retryable: true });
    expect(countWordErrors(sentence, (await speech.transcribe(samples)).text).errors).to.equal(0);
  });

  it('uses no more memory after many calls', async () => {
    const samples = await speech.speak('Yes, please.');
    const call = async () => {
      await speech.speak('Yes.');
      await speech.transcribe(samples);
    };
    for (let count = 0; count < 10; count += 1) await call();
    const resident = () => {
      const processes = [process.pid, engines.hearing.processId ?? 0, engines.speaking.processId ?? 0];
      return processes.reduce((sum, id) => sum + residentMegabytes(id), 0);
    };
    const before = resident();
    for (let count = 0; count < 30; count += 1) await call();
    expect(resident() - before, 'megabytes').to.be.below(100);
  });
});
