/** Audio routes with upstreams in their vendors' formats. */

import path from 'node:path';
import { expect } from 'chai';
import { readPluginConfig } from 'mediagate';
import OpenAI, { toFile } from 'openai';
import { type ElevenlabsUpstream, startElevenlabsUpstream } from '../../support/audio/elevenlabs-upstream.js';
import { type OpenaiAudioUpstream, startOpenaiAudioUpstream } from '../../support/audio/openai-audio-upstream.js';
import { HEARD } from '../../support/audio/openai-transcript-format.js';
import { makeSound, soundSeconds, spokenSeconds } from '../../support/audio/vendor-sounds.js';
import { packageRoot } from '../../support/package-root.js';
import { rejection } from '../../support/rejection.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const KEY = 'sk_canary-of-the-vendor-0004';
const WORDS = 'Good morning, harbour.';

describe('audio routes before upstreams', () => {
  let upstream: OpenaiAudioUpstream;
  let vendor: ElevenlabsUpstream;
  let app: ListeningApp;
  let key: string;
  let client: OpenAI;

  beforeEach(untilDayHasRoom);
  before(async () => {
    [upstream, vendor] = await Promise.all([startOpenaiAudioUpstream(), startElevenlabsUpstream({ apiKey: KEY })]);
    // The entries that the package brings, as an operator switches them on.
    const plugins = await readPluginConfig(path.join(packageRoot, 'plugins.config.json'), {
      TRANSCRIPTION_UPSTREAM_URL: upstream.baseUrl,
      ELEVENLABS_API_KEY: KEY,
      ELEVENLABS_URL: vendor.baseUrl,
    });
    const audio = [
      ...plugins.filter(({ use }) => /_audio$/.test(String(use))),
      {
        use: 'mediagate/plugins/openai_audio',
        options: {
          upstreams: [{ url: upstream.baseUrl }],
          models: [{ id: 'stt-speakers', operations: ['transcribe'], upstreamModel: 'gpt-4o-transcribe-diarize' }],
        },
      },
    ];
    const trustedOrigins = [upstream.origin, vendor.origin];
    // The real client: what is sent is the point here.
    app = await startApp({ gateway: { plugins: audio, trustedOrigins, services: { http: undefined } } });
    key = await app.makeKey({ grants: ['audio'] });
    client = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
  });
  beforeEach(() => {
    upstream.reset();
    vendor.reset();
  });
  after(async () => {
    await app.close();
    await Promise.all([upstream.close(), vendor.close()]);
  });

  const wav = async () => toFile(await makeSound('wav', 2), 'words.wav');

  it('returns everything of a transcription under the public model name', async () => {
    const file = await wav();
    const heard = await client.audio.transcriptions.create({
      file,
      model: 'stt-large-v3-turbo',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });
    expect(heard).to.include({ text: HEARD, language: 'english' });
    expect(heard.segments?.[0]).to.include({ avg_logprob: -0.21, no_speech_prob: 0.01 });
    expect(heard.words).to.have.length(8);
    expect(upstream.requests[0]?.members.model).to.equal('whisper-large-v3-turbo');
    expect(upstream.requests[0]?.files[0]?.bytes.equals(await makeSound('wav', 2))).to.equal(true);
  });

  it('forwards languages of two and three letters, without their region', async () => {
    const sent: Record<string, string | undefined> = {
      'zh-CN': 'zh',
      pt_BR: 'pt',
      'zh-Hant-TW': 'zh',
      'es-419': 'es',
      EN: 'en',
      yue: 'yue',
      haw: 'haw',
      eng: 'en',
      deu: 'de',
      auto: undefined,
    };
    for (const [language, expected] of Object.entries(sent)) {
      upstream.reset();
      await client.audio.transcriptions.create({ file: await wav(), model: 'stt-large-v3', language });
      expect(upstream.requests[0]?.members.language, language).to.equal(expected);
    }
    for (const language of ['e', 'english', 'xx', 'en-', 'zh CN', '12']) {
      const refused = await rejection(
        client.audio.transcriptions.create({ file: await wav(), model: 'stt-large-v3', language }),
      );
      expect(refused, language).to.include({ status: 400, code: 'invalid_value', param: 'language' });
    }
  });

  it('requests speakers, chunks and log probabilities of the upstream, and returns them', async () => {
    const known = {
      known_speaker_names: ['agent'],
      known_speaker_references: [`data:audio/wav;base64,${'A'.repeat(200_000)}`],
    };
    const spoken = (await client.audio.transcriptions.create({
      file: await wav(),
      model: 'stt-speakers',
      response_format: 'diarized_json',
      chunking_strategy: 'auto',
      ...known,
    })) as unknown as { segments: object[]; duration: number; usage: object };
    expect(upstream.requests[0]?.members).to.deep.include({
      response_format: 'diarized_json',
      chunking_strategy: 'auto',
      'known_speaker_names[]': known.known_speaker_names[0],
      'known_speaker_references[]': known.known_speaker_references[0],
    });
    expect(spoken)
      .to.include({ task: 'transcribe', text: HEARD })
      .and.to.have.keys('task', 'duration', 'text', 'segments', 'usage');
    expect(spoken.segments.map((segment) => ({ ...segment, start: 0, end: 0 }))).to.deep.equal([
      {
        type: 'transcript.text.segment',
        id: 'seg_1',
        start: 0,
        end: 0,
        text: 'Six small boats left the harbour.',
        speaker: 'agent',
      },
      { type: 'transcript.text.segment', id: 'seg_2', start: 0, end: 0, text: ' Nobody waved.', speaker: 'B' },
    ]);
    const events = await client.audio.transcriptions.create({
      file: await wav(),
      model: 'stt-speakers',
      response_format: 'diarized_json',
      chunking_strategy: { type: 'server_vad', threshold: 0.4 },
      stream: true,
    });
    const types: string[] = [];
    for await (const event of events) types.push(event.type);
    expect(types).to.include.members(['transcript.text.segment', 'transcript.text.done']);
    expect(upstream.requests[1]?.members).to.deep.include({
      'chunking_strategy[type]': 'server_vad',
      'chunking_strategy[threshold]': '0.4',
    });
    const { logprobs } = await client.audio.transcriptions.create({
      file: await wav(),
      model: 'stt-large-v3',
      response_format: 'json',
      include: ['logprobs'],
    });
    expect(upstream.requests[2]?.members['include[]']).to.equal('logprobs');
    expect(logprobs).to.deep.equal([{ token: 'Six', logprob: -0.1, bytes: [83, 105, 120] }]);
    const refused = await rejection(
      client.audio.transcriptions.create({
        file: await wav(),
        model: 'stt-large-v3',
        response_format: 'diarized_json',
      }),
    );
    expect(refused).to.include({ status: 400, param: 'response_format' });
    // Times are still asked of the model that has no speakers.
    const timed = await client.audio.transcriptions.create({
      file: await wav(),
      model: 'stt-large-v3',
      response_format: 'verbose_json',
    });
    expect(timed.segments).to.have.length(2);
  });

  it('returns a translation as subtitles too', async () => {
    const subtitles = await client.audio.translations.create({
      file: await wav(),
      model: 'stt-large-v3',
      response_format: 'srt',
    });
    expect(String(subtitles)).to.match(
      /^1\n00:00:00,000 --> 00:00:0\d,\d{3}\nSix small boats left the harbour\.\n\n2\n/,
    );
  });

  for (const [format, made] of Object.entries({ mp3: 'mp3_44100_128', opus: 'opus_48000_128', wav: 'pcm_24000' })) {
    it(`requests speech in ${format} as ${made}`, async () => {
      const response_format = format as 'mp3' | 'opus' | 'wav';
      const speech = await client.audio.speech.create({
        model: 'tts_multilingual_v2',
        voice: 'alloy',
        input: WORDS,
        response_format,
        instructions: 'Calmly.',
      });
      expect(speech.headers.get('x-ignored-params')).to.equal('instructions');
      expect(speech.headers.get('x-mediagate-stand-in')).to.equal(null);
      expect(vendor.requests[0]?.outputFormat).to.equal(made);
      const bytes = Buffer.from(await speech.arrayBuffer());
      expect(await soundSeconds(bytes)).to.be.closeTo(spokenSeconds(WORDS), 0.15);
    });
  }

  it("puts the model's explanation into the message, which clients show", async () => {
    const words = 'Audio file is too short. Minimum audio length is 0.1 seconds.';
    upstream.behave([{ does: 'error', status: 400, code: 'audio_too_short', param: 'file', message: words }]);
    const heard = await rejection(client.audio.transcriptions.create({ file: await wav(), model: 'stt-large-v3' }));
    expect(heard).to.be.instanceOf(OpenAI.BadRequestError).and.to.include({ code: 'invalid_value', param: 'file' });
    expect((heard as Error).message).to.include(words);
    const refusal = {
      form: 'new',
      status: 400,
      code: 'invalid_voice_settings',
      message: 'Invalid setting for style.',
    } as const;
    vendor.behave([{ does: 'error', ...refusal }]);
    const said = client.audio.speech.create({ model: 'tts_v3', voice: 'alloy', input: WORDS });
    expect(((await rejection(said)) as Error).message).to.include('Invalid setting for style.');
  });

  it('changes a voice and records its cost for the key', async () => {
    const form = new FormData();
    form.set('audio', new Blob([Uint8Array.from(await makeSound('mp3', 3))]), 'mine.mp3');
    for (const [name, value] of Object.entries({ model: 'tts_multilingual_sts_v2', voice: 'nova', seed: '7' })) {
      form.set(name, value);
    }
    const answer = await fetch(`${app.url}/v1/audio/voice-changer`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    expect(answer.status).to.equal(200);
    expect(await soundSeconds(new Uint8Array(await answer.arrayBuffer()))).to.be.closeTo(3, 0.2);
    expect(vendor.requests[0]?.members).to.deep.equal({ model_id: 'eleven_multilingual_sts_v2', seed: '7' });
    expect(vendor.requests[0]?.files[0]).to.include({ fileName: 'sound.mp3', contentType: 'audio/mpeg' });
    await app.state.admissions.flush();
    const today = new Date().toISOString().slice(0, 10);
    const rows = await app.state.usage.totals({ keyId: (await app.keys.verify(key)).id, from: today, to: today });
    const row = rows.find(({ model }) => model === 'tts_multilingual_sts_v2');
    // A thousand characters a minute, and MP3 adds a moment.
    expect(row).to.include({ requests: 1, estimated: 0 });
    expect(row?.characters).to.be.within(50, 55);
  });

  it('makes a sound effect', async () => {
    const { status, headers, body } = await post('sound-effects', {
      model: 'tts_text_to_sound_v2',
      prompt: 'Rain',
      duration: 1,
    });
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'audio/mpeg']);
    expect(await soundSeconds(body)).to.be.closeTo(1, 0.15);
    expect(vendor.requests[0]?.members).to.deep.equal({
      text: 'Rain',
      model_id: 'eleven_text_to_sound_v2',
      duration_seconds: 1,
    });
  });

  it("translates refusals of an upstream, without its names or the caller's key", async () => {
    vendor.behave([
      { does: 'error', status: 401, code: 'quota_exceeded', form: 'old', message: `used up: ${KEY}` },
      { does: 'error', status: 404, code: 'voice_not_found', form: 'old', message: 'eleven_v3 has no such voice' },
    ]);
    const speech = { model: 'tts_v3', voice: 'nova', input: WORDS };
    const ours = await post('speech', speech);
    const theirs = await post('speech', speech);
    const slow = await post('speech', { ...speech, speed: 3 });
    const said = [ours, theirs, slow].map(({ body }) => Buffer.from(body).toString());
    expect([ours.status, theirs.status, slow.status]).to.deep.equal([502, 400, 400]);
    expect(JSON.parse(said[0] ?? '').error).to.include({ code: 'upstream_auth_error' });
    expect(JSON.parse(said[1] ?? '').error).to.include({ code: 'invalid_value', param: 'voice' });
    expect(JSON.parse(said[2] ?? '').error).to.include({ code: 'unsupported_value', param: 'speed' });
    for (const text of said) expect(text).not.to.match(/canary|eleven_/);
  });

  async function post(route: string, body: object) {
    const answer = await fetch(`${app.url}/v1/audio/${route}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, headers: answer.headers, body: new Uint8Array(await answer.arrayBuffer()) };
  }
});
