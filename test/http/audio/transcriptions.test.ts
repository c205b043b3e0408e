/** Transcriptions and translations over HTTP: forms, formats, fields and refusals. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { GatewayError, type TranscribeCall } from 'mediagate';
import { HEARD, HEARING, HEARING_FAST, SPEAKING } from '../../support/audio/invented-audio.js';
import { CONTAINERS, makeSound } from '../../support/audio/sounds.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';
import { type AudioApp, fileOf, startAudioApp, toForm } from './client.js';

const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const TRANSLATIONS = '/v1/audio/translations';

describe('transcriptions and translations over HTTP', () => {
  let app: AudioApp;
  let wav: Buffer;

  before(async () => {
    app = await startAudioApp();
    wav = await makeSound(app.folder, 'wav');
  });
  after(() => app.close());
  beforeEach(() => {
    app.audio.calls.length = 0;
    app.audio.transcribe = async () => HEARD;
  });

  const ask = (fields: Parameters<AudioApp['send']>[1] = {}, target = TRANSCRIPTIONS) =>
    app.send(target, { file: fileOf(wav), model: HEARING, ...fields });
  const lastCall = () => app.audio.calls.at(-1) as TranscribeCall;
  const leftOver = async () => (await readdir(path.join(app.dataDir, 'scratch')).catch(() => [])).length;

  for (const extension of Object.keys(CONTAINERS)) {
    it(`accepts ${extension} under any name, and sends the model its bytes and length`, async () => {
      const sound = await makeSound(app.folder, extension);
      let seen: Buffer | undefined;
      app.audio.transcribe = async (call) => {
        seen = await readFile(call.audio.path);
        return HEARD;
      };
      const { status, text } = await ask({ file: fileOf(sound, '../../../etc/passwd.exe') });
      expect(status, text).to.equal(200);
      expect(seen).to.deep.equal(sound);
      const { size, filename, seconds, contentType } = lastCall().audio;
      expect(size).to.equal(sound.length);
      expect(filename).to.match(/^sound\.(flac|mp3|mp4|mpeg|ogg|wav|webm)$/);
      expect(contentType).to.match(/^(audio|video)\//);
      expect(seconds).to.be.closeTo(2, 0.2);
      expect(await leftOver()).to.equal(0);
    });
  }

  it('ignores and names the fields that a model cannot have, but refuses to name no speakers', async () => {
    const fields = { chunking_strategy: 'auto', 'include[]': 'logprobs', 'known_speaker_names[]': ['a', 'b'] };
    const { status, headers } = await ask(fields);
    expect([status, headers.get('x-ignored-params')]).to.deep.equal([
      200,
      'chunking_strategy, include[], known_speaker_names[]',
    ]);
    expect(lastCall()).not.to.have.property('options');
    const { length } = app.audio.calls;
    const refused = await ask({ response_format: 'diarized_json' });
    expect([refused.status, refused.json.error.code, refused.json.error.param]).to.deep.equal([
      400,
      'unsupported_value',
      'response_format',
    ]);
    const translated = await ask({ response_format: 'diarized_json' }, TRANSLATIONS);
    expect([translated.status, translated.json.error.code]).to.deep.equal([400, 'invalid_value']);
    expect(app.audio.calls).to.have.length(length);
  });

  it('answers JSON by default, with the transcribed seconds', async () => {
    const { headers, json } = await ask();
    expect(headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(json).to.deep.equal({ text: HEARD.text, usage: { type: 'duration', seconds: 3661.5 } });
    expect(headers.get('x-mediagate-stand-in')).to.equal('parrot');
  });

  it('renders plain text and both kinds of subtitles', async () => {
    const text = await ask({ response_format: 'text' });
    expect([text.headers.get('content-type'), text.text]).to.deep.equal([
      'text/plain; charset=utf-8',
      'Hello there. A & b < c.\n',
    ]);
    const srt = await ask({ response_format: 'srt' });
    expect(srt.headers.get('content-type')).to.equal('application/x-subrip; charset=utf-8');
    expect(srt.text).to.equal(
      '1\n00:00:00,000 --> 00:00:02,400\nHello there.\n\n2\n00:00:02,400 --> 01:01:01,046\nA & b < c.\n\n',
    );
    const vtt = await ask({ response_format: 'vtt' });
    expect(vtt.headers.get('content-type')).to.equal('text/vtt; charset=utf-8');
    expect(vtt.text).to.equal(
      'WEBVTT\n\n00:00:00.000 --> 00:00:02.400\nHello there.\n\n00:00:02.400 --> 01:01:01.046\nA &amp; b &lt; c.\n\n',
    );
  });

  it('returns every field in verbose JSON, with null for unknown ones', async () => {
    const { json } = await ask({ response_format: 'verbose_json', temperature: '0.3' });
    expect(json).to.deep.include({ task: 'transcribe', language: 'english', duration: 3661.5, text: HEARD.text });
    expect(json.segments[0]).to.deep.equal({
      id: 0,
      seek: 0,
      start: 0,
      end: 2.4,
      text: 'Hello there.',
      tokens: [],
      temperature: 0.3,
      avg_logprob: null,
      compression_ratio: null,
      no_speech_prob: null,
    });
    expect(json.segments[1]).to.deep.include({ id: 1, end: 3661.046, tokens: [1, 2], avg_logprob: -0.2 });
    expect(json).not.to.have.property('words');
    expect(lastCall()).to.include({ granularity: 'segment', temperature: 0.3 });
  });

  it('returns words if requested, and segments beside them if both are', async () => {
    const verbose = { response_format: 'verbose_json' };
    const words = await ask({ ...verbose, 'timestamp_granularities[]': 'word' });
    expect(words.json.words).to.deep.equal([{ word: 'Hello', start: 0, end: 0.5 }]);
    expect(words.json).not.to.have.property('segments');
    expect(lastCall().granularity).to.equal('word');
    const both = await ask({ ...verbose, 'timestamp_granularities[]': ['word', 'segment'] });
    expect(both.json).to.include.keys('words', 'segments');
  });

  it('streams segments, then the whole, as events', async () => {
    const { headers, text } = await ask({ stream: 'true' });
    expect(headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
    const events = text
      .split('\n\n')
      .filter(Boolean)
      .map((one) => JSON.parse(one.replace(/^data: /, '')));
    expect(events.map(({ type }) => type)).to.deep.equal([
      'transcript.text.delta',
      'transcript.text.delta',
      'transcript.text.done',
    ]);
    expect(events[0].delta + events[1].delta).to.equal(HEARD.text);
    expect(events[2]).to.deep.include({ text: HEARD.text, usage: { type: 'duration', seconds: 3661.5 } });
  });

  it('forwards language, prompt and temperature in any order', async () => {
    const form = { prompt: 'Names: Ada', language: 'EN', 'include[]': 'logprobs', hotwords: 'x', temperature: '1' };
    const { status } = await app.send(TRANSCRIPTIONS, { ...form, model: HEARING, file: fileOf(wav) });
    expect(status).to.equal(200);
    expect(lastCall()).to.deep.include({ model: HEARING, language: 'en', prompt: 'Names: Ada', temperature: 1 });
    expect(lastCall()).not.to.have.any.keys('hotwords', 'include[]');
  });

  it('accepts a temperature as clients print it', async () => {
    await ask({ temperature: String(0.1 + 0.2) });
    expect(lastCall().temperature).to.equal(0.1 + 0.2);
  });

  it('lists ignored fields in a short header', async () => {
    const asked = { 'include[]': 'logprobs', chunking_strategy: 'auto', hotwords: ['x', 'y'] };
    expect((await ask(asked)).headers.get('x-ignored-params')).to.equal('hotwords, include[], chunking_strategy');
    expect((await ask({ language: 'de' }, TRANSLATIONS)).headers.get('x-ignored-params')).to.equal('language');
    expect((await ask({ language: 'de', ['x'.repeat(2_000)]: '' })).headers.get('x-ignored-params')).to.equal(null);
  });

  it('lists what the model ignored', async () => {
    app.audio.transcribe = async () => ({ ...HEARD, ignored: ['prompt', 'bad name\r\nx: y'] });
    expect((await ask({ prompt: 'x' })).headers.get('x-ignored-params')).to.equal('prompt');
  });

  it('translates with models that can, and refuses others', async () => {
    const { json } = await ask({ response_format: 'verbose_json', language: 'xx' }, TRANSLATIONS);
    expect(json.task).to.equal('translate');
    expect(lastCall()).not.to.have.property('language');
    const refused = await ask({ model: HEARING_FAST }, TRANSLATIONS);
    expect(refused.status).to.equal(400);
    expect(refused.json.error).to.include({ code: 'model_not_supported', param: 'model' });
    expect(refused.json.error.message).to.include(HEARING).and.not.include(HEARING_FAST);
  });

  const refusals: readonly (readonly [string, Parameters<AudioApp['send']>[1], number, string, string])[] = [
    ['no model', { model: '' }, 400, 'missing_required_parameter', 'model'],
    ['an unknown model', { model: 'whisper-1' }, 404, 'model_not_found', 'model'],
    ['a model that speaks', { model: SPEAKING }, 400, 'model_not_supported', 'model'],
    ['two models', { model: [HEARING, HEARING_FAST] }, 400, 'invalid_value', 'model'],
    ['a language by name', { language: 'english' }, 400, 'invalid_value', 'language'],
    ['a language that is none', { language: 'qq' }, 400, 'invalid_value', 'language'],
    ['too hot', { temperature: '1.1' }, 400, 'invalid_value', 'temperature'],
    ['no number', { temperature: '1e-1' }, 400, 'invalid_value', 'temperature'],
    ['another format', { response_format: 'xml' }, 400, 'invalid_value', 'response_format'],
    [
      'times without verbose JSON',
      { 'timestamp_granularities[]': 'word' },
      400,
      'invalid_value',
      'timestamp_granularities',
    ],
    ['a stream that is neither', { stream: 'yes' }, 400, 'invalid_value', 'stream'],
    ['a sound that is a text', { file: 'hello' }, 400, 'invalid_value', 'file'],
    ['an empty sound', { file: fileOf(new Uint8Array()) }, 400, 'invalid_value', 'file'],
    [
      'a picture',
      { file: fileOf(Buffer.from(`\x89PNG\r\n\x1a\n${'x'.repeat(9_000)}`, 'latin1')) },
      400,
      'invalid_value',
      'file',
    ],
    ['a sound that is none', { file: fileOf(Buffer.from(`OggS${'x'.repeat(9_000)}`)) }, 400, 'invalid_value', 'file'],
    ['two sounds', { file: [fileOf(new Uint8Array(5)), fileOf(new Uint8Array(5))] }, 400, 'invalid_value', 'file'],
    ['a field without end', { prompt: 'x'.repeat(70_000) }, 400, 'invalid_value', 'prompt'],
    ['a long prompt', { prompt: 'x'.repeat(4_097) }, 400, 'invalid_value', 'prompt'],
  ];
  for (const [what, fields, status, code, param] of refusals) {
    it(`refuses ${what} and leaves nothing behind`, async () => {
      const answer = await ask(fields);
      expect([answer.status, answer.json.error.code, answer.json.error.param]).to.deep.equal([status, code, param]);
      expect(app.audio.calls).to.have.length(0);
      expect(await leftOver()).to.equal(0);
    });
  }

  it('refuses a form without audio and names the field', async () => {
    const { status, json } = await app.send(TRANSCRIPTIONS, { model: HEARING, audio: fileOf(wav) });
    expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'missing_required_parameter', 'file']);
  });

  it('names the accepted formats when the audio has none of them', async () => {
    const { json } = await ask({ file: fileOf(Buffer.alloc(5_000, 'text ')) });
    expect(json.error.message).to.include('flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm');
  });

  it('forwards what the model reports, and treats invalid reports as its failure', async () => {
    app.audio.transcribe = () =>
      Promise.reject(new GatewayError('upstream_rate_limited', 'Busy.', { retryAfterSeconds: 3 }));
    const busy = await ask();
    expect([busy.json.error.code, busy.headers.get('retry-after')]).to.deep.equal(['upstream_rate_limited', '3']);
    app.audio.transcribe = async () => ({ ...HEARD, segments: [{ start: Number.NaN, end: 1, text: '' }] });
    expect((await ask()).json.error.code).to.equal('upstream_changed');
    app.audio.transcribe = () => Promise.reject(new Error('secret at /srv/x'));
    const broken = await ask();
    expect(broken.status).to.equal(502);
    expect(broken.text).not.to.include('secret');
    expect(await leftOver()).to.equal(0);
  });

  it('aborts the model when the client disconnects', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    app.audio.transcribe = ({ signal }) => {
      asked.resolve(signal);
      return untilAborted(signal);
    };
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${app.key}` };
    const body = toForm({ file: fileOf(wav), model: HEARING });
    const request = fetch(app.url + TRANSCRIPTIONS, { method: 'POST', headers, body, signal: leaving.signal });
    const left = request.catch(() => undefined);
    const signal = await asked.promise;
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    leaving.abort();
    await aborted;
    await left;
    await until(async () => (await leftOver()) === 0, 10);
  });

  it('needs the grant, and does not accept X-API-Key', async () => {
    const other = await app.makeKey({ grants: ['text', 'images', 'extract'] });
    const body = toForm({ file: fileOf(wav), model: HEARING });
    const init = { method: 'POST', body };
    const refused = await app.request(TRANSCRIPTIONS, { ...init, headers: { authorization: `Bearer ${other}` } });
    expect([refused.status, refused.json.error.code]).to.deep.equal([403, 'route_not_allowed']);
    const wrong = await app.request(TRANSCRIPTIONS, { ...init, headers: { 'x-api-key': app.key } });
    expect([wrong.status, wrong.json.error.code]).to.deep.equal([401, 'missing_api_key']);
  });

  it('takes one slot of the minute for an accepted request, and none for a refused one', async () => {
    const key = await app.makeKey({ grants: ['audio'], rpm: 2 });
    const once = (model: string) =>
      app.request(TRANSCRIPTIONS, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: toForm({ file: fileOf(wav), model }),
      });
    expect((await once('none')).status).to.equal(404);
    expect((await once(HEARING)).headers.get('x-ratelimit-remaining-requests')).to.equal('1');
    expect((await once(HEARING)).status).to.equal(200);
    expect((await once(HEARING)).json.error.code).to.equal('rate_limit_exceeded');
  });
});
