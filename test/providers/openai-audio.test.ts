/** The OpenAI audio provider over sockets. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { AudioOperation, GatewayError, Plugin, SpeakCall, SpeechFormat, TranscribeCall } from 'mediagate';
import openaiAudio from 'mediagate/plugins/openai_audio';
import {
  type OpenaiAudioAnswer,
  type OpenaiAudioUpstream,
  startOpenaiAudioUpstream,
} from '../support/audio/openai-audio-upstream.js';
import { HEARD } from '../support/audio/openai-transcript-format.js';
import { makeSound, soundSeconds, spokenSeconds } from '../support/audio/vendor-sounds.js';
import { rejection } from '../support/rejection.js';
import { type AudioStage, openAudioStage, readAll } from './audio-provider.js';

const KEY = 'sk-canary-of-the-upstream-0002';
const MODEL = 'vendor-hearing-x9';
const VOICE = 'vendor-voice-x7';

const plugin = openaiAudio as unknown as Plugin;
const models = [
  { id: 'stt-large-v3', operations: ['transcribe', 'translate'], upstreamModel: MODEL },
  { id: 'tts_v3', operations: ['speak'], upstreamModel: VOICE },
];

describe('openai_audio over sockets', () => {
  let first: OpenaiAudioUpstream;
  let second: OpenaiAudioUpstream;
  let untimed: OpenaiAudioUpstream;
  let stage: AudioStage;

  before(async () => {
    [first, second, untimed] = await Promise.all([
      startOpenaiAudioUpstream({ apiKey: KEY }),
      startOpenaiAudioUpstream({ onlyFormat: 'wav' }),
      startOpenaiAudioUpstream({ timed: false }),
    ]);
    stage = await openAudioStage([first.origin, second.origin, untimed.origin]);
  });
  beforeEach(() => {
    for (const upstream of [first, second, untimed]) upstream.reset();
  });
  afterEach(() => stage.clear());
  after(async () => {
    await stage.close();
    await Promise.all([first.close(), second.close(), untimed.close()]);
  });

  const one = (more: object = {}) => ({ url: first.baseUrl, apiKey: KEY, ...more });
  const other = (more: object = {}) => ({ url: second.baseUrl, ...more });
  const provider = (upstreams: readonly object[], operation: AudioOperation, more: object = {}) =>
    stage.provider(
      plugin,
      { upstreams, models, ...more },
      operation === 'speak' ? 'tts_v3' : 'stt-large-v3',
      operation,
    );

  async function hear(upstreams: readonly object[], more: Partial<TranscribeCall> = {}, options: object = {}) {
    const { transcribe } = await provider(upstreams, 'transcribe', options);
    const audio = await stage.sound('wav', 2);
    return transcribe?.({ model: 'stt-large-v3', audio, signal: new AbortController().signal, ...more });
  }

  const speech = (more: Partial<SpeakCall> = {}): SpeakCall => ({
    model: 'tts_v3',
    input: 'Good morning, harbour.',
    voice: 'alloy',
    format: 'mp3',
    speed: 1,
    signal: new AbortController().signal,
    ...more,
  });

  async function say(upstreams: readonly object[], more: Partial<SpeakCall> = {}, options: object = {}) {
    const stream = await (await provider(upstreams, 'speak', options)).speak?.(speech(more));
    if (!stream) throw new Error('there is no speak');
    return stream;
  }

  async function failureOf(work: Promise<unknown>): Promise<GatewayError> {
    const error = (await rejection(work)) as GatewayError;
    const said = JSON.stringify([error.message, error.reason, stage.lines]);
    for (const secret of [KEY, MODEL, VOICE]) expect(said).not.to.include(secret);
    return error;
  }

  describe('transcribing', () => {
    it('requests times, sends the file unchanged, and reads the whole answer', async () => {
      const audio = await stage.sound('opus', 2);
      const transcript = await hear([one()], { audio, language: 'de', prompt: 'Häfen: "é"\r\n', temperature: 0.2 });
      const [request] = first.requests;
      expect(request).to.deep.include({
        path: '/v1/audio/transcriptions',
        members: {
          model: MODEL,
          response_format: 'verbose_json',
          language: 'de',
          prompt: 'Häfen: "é"\r\n',
          temperature: '0.2',
        },
      });
      expect(request?.headers.authorization).to.equal(`Bearer ${KEY}`);
      const [file] = request?.files ?? [];
      expect(file).to.include({ name: 'file', fileName: 'sound.ogg', contentType: 'audio/ogg' });
      expect(file?.bytes.equals(await readFile(audio.path))).to.equal(true);
      expect(transcript).to.deep.include({ text: HEARD, language: 'english', usage: { seconds: 2 } });
      expect(transcript?.durationSeconds).to.be.closeTo(2, 0.1);
      expect(transcript?.words).to.equal(undefined);
      expect(transcript?.segments.map(({ text }) => text).join('')).to.equal(HEARD);
      expect(transcript?.segments[1]?.details).to.deep.equal({
        seek: 0,
        tokens: [50364, 2408],
        temperature: 0,
        averageLogProbability: -0.21,
        compressionRatio: 1.1,
        noSpeechProbability: 0.01,
      });
    });

    it('requests word times on request, beside segments', async () => {
      const transcript = await hear([one()], { granularity: 'word' });
      expect(first.requests[0]?.members['timestamp_granularities[]']).to.deep.equal(['word', 'segment']);
      expect(transcript?.words?.map(({ word }) => word)).to.deep.equal(HEARD.replaceAll('.', '').split(' '));
      expect(transcript?.segments).to.have.length(2);
    });

    it('translates without a language', async () => {
      const { translate } = await provider([one()], 'translate');
      const audio = await stage.sound('mp3', 2);
      const signal = new AbortController().signal;
      const transcript = await translate?.({ model: 'stt-large-v3', audio, language: 'de', prompt: 'x', signal });
      expect(first.requests[0]).to.include({ path: '/v1/audio/translations' });
      expect(first.requests[0]?.members).to.deep.equal({ model: MODEL, response_format: 'verbose_json', prompt: 'x' });
      expect(transcript?.segments).to.have.length(2);
    });

    it('requests no times of an upstream without them, and remembers it', async () => {
      const { transcribe } = await provider([{ url: untimed.baseUrl }], 'transcribe');
      const call = { model: 'stt-large-v3', audio: await stage.sound('wav', 2), signal: new AbortController().signal };
      const transcript = await transcribe?.(call);
      expect(transcript).to.deep.equal({ text: HEARD, segments: [], durationSeconds: 2, usage: { seconds: 2 } });
      await transcribe?.(call);
      const formats = () => untimed.requests.map(({ members }) => members.response_format);
      expect(formats()).to.deep.equal(['verbose_json', 'json', 'json']);
      const error = await failureOf(transcribe?.({ ...call, granularity: 'word' }) ?? Promise.resolve());
      expect(error).to.include({ code: 'unsupported_value', param: 'timestamp_granularities[]' });
      expect(untimed.requests).to.have.length(3);
      expect(stage.lines).to.deep.equal([]);
    });

    it('moves on to an upstream with word times', async () => {
      const transcript = await hear([{ url: untimed.baseUrl }, other()], { granularity: 'word' });
      expect(transcript?.words).to.have.length(8);
      expect([untimed.requests.length, second.requests.length]).to.deep.equal([1, 1]);
    });

    it('never requests times if the operator disables them', async () => {
      await hear([{ url: untimed.baseUrl, transcripts: 'json', model: 'named-here' }]);
      expect(untimed.requests.map(({ members }) => members)).to.deep.equal([
        { model: 'named-here', response_format: 'json' },
      ]);
    });

    it("reports invalid audio as the caller's fault, without internal names", async () => {
      const message = `${MODEL} cannot decode this; see https://vendor.example/x with ${KEY}`;
      first.behave([{ does: 'error', status: 400, param: 'file', message }]);
      const error = await failureOf(hear([one(), other()]));
      expect(error).to.include({ code: 'invalid_value', param: 'file', retryable: false });
      expect(error.reason).to.equal('stt-large-v3 cannot decode this; see … with …');
      expect(second.requests).to.have.length(0);
    });
  });

  describe('speaking', () => {
    for (const format of ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] satisfies SpeechFormat[]) {
      it(`forwards ${format} unchanged`, async () => {
        const stream = await say([one()], { format });
        const bytes = await readAll(stream);
        expect(stream.format).to.equal(format);
        const seconds = spokenSeconds(speech().input);
        expect(bytes.equals(await makeSound(format, seconds))).to.equal(true);
        expect(await soundSeconds(bytes, format === 'pcm' ? 'pcm' : undefined)).to.be.closeTo(seconds, 0.15);
      });
    }

    it("sends the caller's settings, and nothing else", async () => {
      await readAll(
        await say([one()], { instructions: 'Calmly. "é"', speed: 1.5, voice: 'voice_ab12', format: 'opus' }),
      );
      await readAll(await say([one()]));
      expect(first.requests.map(({ members }) => members)).to.deep.equal([
        {
          model: VOICE,
          input: 'Good morning, harbour.',
          voice: { id: 'voice_ab12' },
          response_format: 'opus',
          speed: 1.5,
          instructions: 'Calmly. "é"',
        },
        { model: VOICE, input: 'Good morning, harbour.', voice: 'alloy', response_format: 'mp3' },
      ]);
    });

    it('names the format that arrived, and requests an available one afterwards', async () => {
      expect((await say([other()], { format: 'pcm' })).format).to.equal('wav');
      expect((await say([other({ formats: ['wav'] })], { format: 'mp3' })).format).to.equal('wav');
      expect(second.requests.map(({ members }) => members.response_format)).to.deep.equal(['pcm', 'wav']);
    });

    it('ends with an error when the upstream breaks off, never with partial audio', async () => {
      first.behave([{ does: 'half', after: 'reset' }]);
      expect(await failureOf(readAll(await say([one(), other()])))).to.include({ code: 'upstream_error' });
      expect(second.requests).to.have.length(0);
    });

    const useless: Record<string, OpenaiAudioAnswer> = {
      'a page in place of a sound': { does: 'html' },
      'an answer without a byte': { does: 'empty' },
    };
    for (const [name, answer] of Object.entries(useless)) {
      for (const format of ['mp3', 'pcm'] as const) {
        it(`pays once: it does not repeat ${name} (${format})`, async () => {
          first.behave([answer]);
          expect(await failureOf(say([one(), other()], { format }))).to.include({ code: 'upstream_changed' });
          expect([first.requests.length, second.requests.length]).to.deep.equal([1, 0]);
        });
      }
    }

    it('closes the connection when the listener leaves', async () => {
      for (const answer of [{ does: 'stall' }, { does: 'half', after: 'silence' }] satisfies OpenaiAudioAnswer[]) {
        first.reset();
        first.behave([answer]);
        const leaving = new AbortController();
        const gone = new Error('the caller left');
        const listening = say([one()], { signal: leaving.signal }).then(readAll);
        while (first.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        await new Promise((resolve) => setTimeout(resolve, 100));
        leaving.abort(gone);
        expect(await rejection(listening)).to.equal(gone);
        await first.requests[0]?.abandoned;
      }
    });

    it('streams audio as it arrives, and closes the connection without a reader', async () => {
      first.behave([{ does: 'half', after: 'silence' }]);
      for await (const _ of (await say([one()])).body) break;
      await first.requests[0]?.abandoned;
    });

    it('lets audio take longer than the first byte may, while it flows', async () => {
      first.behave([{ does: 'work', pieceBytes: 4_000, pauseMs: 300 }]);
      const bytes = await readAll(await say([one()], {}, { budgetMs: 1_000, idleMs: 5_000 }));
      expect(bytes.equals(await makeSound('mp3', spokenSeconds(speech().input)))).to.equal(true);
      expect(bytes.length).to.be.greaterThan(16_000);
    });

    it('ends at its own deadline if the upstream does not', async () => {
      for (const answer of [{ does: 'stall' }, { does: 'half', after: 'silence' }] satisfies OpenaiAudioAnswer[]) {
        first.reset();
        first.behave([answer]);
        const error = await failureOf(say([one()], {}, { budgetMs: 1_000, idleMs: 500 }).then(readAll));
        expect(error).to.include({ code: 'upstream_timeout', retryable: true });
        expect(first.requests).to.have.length(1);
      }
    });
  });

  describe('retries', () => {
    it('repeat after 5xx and after a limit, then use the next upstream', async () => {
      first.behave([
        { does: 'error', status: 500 },
        { does: 'error', status: 429, headers: { 'retry-after': '1' } },
      ]);
      await hear([one()]);
      expect(first.requests).to.have.length(3);
      first.reset();
      first.behave(() => ({ does: 'error', status: 503, text: '<html>busy</html>' }));
      await readAll(await say([one(), other()]));
      expect([first.requests.length, second.requests.length]).to.deep.equal([1, 1]);
    });

    it('end after three attempts, with the wait', async () => {
      first.behave(() => ({ does: 'error', status: 429, headers: { 'retry-after': '1' } }));
      const error = await failureOf(hear([one()]));
      expect(error).to.include({ code: 'upstream_rate_limited', retryable: true, retryAfterSeconds: 1 });
      expect(first.requests).to.have.length(3);
    });

    it('leave a long wait to the caller', async () => {
      first.behave(() => ({ does: 'error', status: 429, headers: { 'retry-after': '20' } }));
      const error = await failureOf(say([one()]));
      expect(error).to.include({ code: 'upstream_rate_limited', retryAfterSeconds: 20 });
      expect(first.requests).to.have.length(1);
    });

    const paid: Record<string, [OpenaiAudioAnswer, string]> = {
      'a reset in the middle of the answer': [{ does: 'half', after: 'reset' }, 'upstream_error'],
      'a reset without an answer': [{ does: 'reset' }, 'upstream_error'],
      'a page in place of JSON': [{ does: 'html' }, 'upstream_changed'],
      'an empty answer': [{ does: 'empty' }, 'upstream_changed'],
      'a proxy that gave up waiting': [{ does: 'error', status: 524, text: 'timeout' }, 'upstream_timeout'],
    };
    for (const [name, [answer, code]] of Object.entries(paid)) {
      it(`do not repeat ${name}`, async () => {
        first.behave([answer]);
        expect(await failureOf(hear([one(), other()]))).to.include({ code });
        expect(first.requests.length + second.requests.length).to.equal(1);
      });
    }

    for (const [status, code] of [
      [401, 'invalid_api_key'],
      [402, undefined],
      [403, 'unsupported_country_region_territory'],
      [429, 'insufficient_quota'],
    ] as const) {
      it(`alert the operator if the upstream refuses the gateway (${status}), and use the next one`, async () => {
        const type = status === 403 ? 'request_forbidden' : undefined;
        first.behave(() => ({ does: 'error', status, code, type, message: `Incorrect key ${KEY}` }));
        await hear([one(), other()]);
        expect([first.requests.length, second.requests.length]).to.deep.equal([1, 1]);
        expect(stage.lines.map(({ level, fields }) => [level, fields.code, fields.member])).to.deep.equal([
          ['error', 'upstream_auth_error', 'upstreams.0'],
        ]);
        const alone = await failureOf(say([one()]));
        expect(alone).to.include({ code: 'upstream_auth_error', retryable: false });
        expect(alone.reason).to.equal(undefined);
      });
    }

    it('cool an upstream down that keeps failing', async () => {
      first.behave(() => ({ does: 'error', status: 500 }));
      const { speak } = await provider([one(), other()], 'speak');
      for (let count = 1; count <= 12; count++) {
        const stream = await speak?.(speech());
        if (stream) await readAll(stream);
      }
      expect([first.requests.length, second.requests.length]).to.deep.equal([10, 12]);
    });
  });
});
