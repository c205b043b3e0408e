/** Repeated requests of audio routes with one idempotency key. */

import { expect } from 'chai';
import { type AudioStream, type Clock, GatewayError, systemClock } from 'mediagate';
import { CHANGING, EFFECTS, HEARD, HEARING, SPEAKING, tonePieces } from '../../support/audio/invented-audio.js';
import { makeSound, tonePcm } from '../../support/audio/sounds.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { type AudioApp, fileOf, startAudioApp, toForm } from './client.js';

const SPEECH = '/v1/audio/speech';
const HELLO = { model: SPEAKING, input: 'Hello there.', voice: 'alloy', response_format: 'pcm' };
const DAY_MS = 24 * 60 * 60 * 1000;

interface Heard {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

const isReplayed = ({ headers }: { headers: Headers }) =>
  headers.get('idempotency-replayed') === 'true' && headers.get('idempotent-replayed') === 'true';
const codeOf = ({ status, bytes }: Heard) => [status, JSON.parse(bytes.toString()).error.code];
const keptHeaders = ({ headers }: Heard) =>
  ['content-type', 'x-ignored-params', 'x-mediagate-stand-in'].map((name) => headers.get(name));

describeOnStacks('repeated requests of audio routes', (stack) => {
  const once = onceIt(stack);
  let app: AudioApp;
  let keyId: string;
  /** Milliseconds that the clock is ahead, and that have gone by unnoticed. */
  let ahead: number;
  let later: number;
  /** Requests that had to wait for another so far. */
  let waits: number;

  beforeEach(async () => {
    [ahead, later, waits] = [0, 0, 0];
    const monotonic = () => systemClock.monotonic() + later;
    const clock: Clock = { ...systemClock, now: () => Date.now() + ahead, monotonic };
    app = await startAudioApp({ stack, clock, key: { rpm: 1_000 } });
    keyId = (await app.state.keys.list())[0]?.id ?? '';
    const { idempotentResponses } = app.state;
    const waitFor = idempotentResponses.waitFor.bind(idempotentResponses);
    idempotentResponses.waitFor = (id, options) => {
      waits += 1;
      return waitFor(id, options);
    };
  });
  afterEach(() => app.close());

  async function ask(target: string, key: string, init: RequestInit): Promise<Heard> {
    const headers = { authorization: `Bearer ${app.key}`, 'idempotency-key': key, ...init.headers };
    const response = await fetch(app.url + target, { method: 'POST', ...init, headers });
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  }

  function speak(key: string, body: Record<string, unknown> = {}, init: RequestInit = {}): Promise<Heard> {
    const headers = { 'content-type': 'application/json' };
    return ask(SPEECH, key, { headers, body: JSON.stringify({ ...HELLO, ...body }), ...init });
  }

  /** What was written down of the key's requests, once there are so many: an answer does not wait for that. */
  function entries(count: number) {
    return until(async () => {
      await app.state.admissions.flush();
      const found = await app.state.usage.entries({ keyId, from: '2000-01-01', to: '2999-01-01' }, 100);
      return found.length >= count && found;
    });
  }

  it('return the first answer, byte for byte, and count once', async () => {
    const wav = await makeSound(app.folder, 'wav');
    const forms = { file: fileOf(wav), audio: fileOf(wav), prompt: 'x', unknown: '1' };
    const form = (fields: Record<string, string>, names: readonly string[]) => ({
      body: toForm({
        ...fields,
        ...Object.fromEntries(names.map((name) => [name, forms[name as keyof typeof forms]])),
      }),
    });
    const json = (body: object) => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    const requests: [string, () => RequestInit][] = [
      [SPEECH, () => json({ ...HELLO, lang: 'de' })],
      [SPEECH, () => json({ ...HELLO, stream_format: 'sse' })],
      ['/v1/audio/sound-effects', () => json({ model: EFFECTS, text: 'Rain' })],
      ['/v1/audio/voice-changer', () => form({ model: CHANGING, voice: 'onyx' }, ['audio'])],
      ['/v1/audio/transcriptions', () => form({ model: HEARING, response_format: 'srt' }, ['file', 'unknown'])],
      ['/v1/audio/transcriptions', () => form({ model: HEARING, stream: 'true' }, ['file'])],
      ['/v1/audio/translations', () => form({ model: HEARING }, ['file'])],
    ];
    for (const [index, [target, init]] of requests.entries()) {
      const first = await ask(target, `key-${index}`, init());
      expect([first.status, isReplayed(first), first.headers.get('idempotency-kept')], target).to.deep.equal([
        200,
        false,
        null,
      ]);
      const again = await ask(target, `key-${index}`, init());
      expect([again.status, isReplayed(again)], target).to.deep.equal([200, true]);
      expect(again.bytes.equals(first.bytes) && first.bytes.length > 0, target).to.equal(true);
      expect(keptHeaders(again), target).to.deep.equal(keptHeaders(first));
      expect(again.headers.get('x-ratelimit-remaining-requests'), target).to.equal(null);
    }
    expect(app.audio.calls).to.have.length(requests.length);
    expect((await entries(requests.length)).map(({ status }) => status)).to.deep.equal(
      Array.from({ length: requests.length }, () => 200),
    );
  });

  once('match the same form in any order and with any file name, but not other audio or fields', async () => {
    const [wav, other] = [await makeSound(app.folder, 'wav'), await makeSound(app.folder, 'flac')];
    const transcribe = (...fields: [string, string | File][]) => {
      const body = new FormData();
      for (const [name, value] of fields) body.append(name, value);
      return ask('/v1/audio/transcriptions', 'one', { body });
    };
    const [model, language, file] = [
      ['model', HEARING],
      ['language', 'en'],
      ['file', fileOf(wav, 'a.wav')],
    ] as [string, string | File][];
    if (!model || !language || !file) throw new Error('no fields');
    expect(isReplayed(await transcribe(model, language, file))).to.equal(false);
    expect(isReplayed(await transcribe(['file', fileOf(wav, 'b.bin')], language, model))).to.equal(true);
    expect(codeOf(await transcribe(['file', fileOf(other, 'a.wav')], language, model))).to.deep.equal([
      422,
      'idempotency_key_reused',
    ]);
    const { headers, ...french } = await transcribe(model, ['language', 'fr'], file);
    expect(codeOf({ headers, ...french })).to.deep.equal([422, 'idempotency_key_reused']);
    expect(headers.get('x-should-retry')).to.equal('false');
    expect(app.audio.calls).to.have.length(1);
  });

  it('call the model once for twenty simultaneous ones', async () => {
    const sound = held();
    app.audio.sound = sound.halting;
    const asked = Array.from({ length: 20 }, () => speak('one'));
    await until(() => waits === 19);
    sound.go();
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ status, bytes }) => `${status} ${bytes.toString('base64')}`)).size).to.equal(1);
    expect(answers.filter(isReplayed)).to.have.length(19);
    expect(app.audio.calls).to.have.length(1);
    expect((await entries(1)).map(({ status }) => status)).to.deep.equal(Array.from({ length: 1 }, () => 200));
  });

  once('start anew when the first was refused or failed, which waiting ones receive', async () => {
    expect((await speak('one', { input: '' })).status).to.equal(400);
    const sound = held();
    app.audio.sound = sound.failing;
    const first = speak('one');
    await until(() => app.audio.calls.length === 1);
    const joined = speak('one');
    await until(() => waits === 1);
    sound.go();
    expect(codeOf(await first)).to.deep.equal([502, 'upstream_error']);
    expect(codeOf(await joined)).to.deep.equal([502, 'upstream_error']);
    expect(app.audio.calls).to.have.length(1);
    app.audio.sound = held().whole;
    const good = await speak('one');
    expect([good.status, isReplayed(good)]).to.deep.equal([200, false]);
    expect(isReplayed(await speak('one'))).to.equal(true);
  });

  once('start anew when the audio of the first broke off', async () => {
    for (const [key, more] of [
      ['bare', {}],
      ['events', { stream_format: 'sse' }],
    ] as const) {
      app.audio.sound = () => ({ body: breaking(), format: 'pcm' });
      const broken = await speak(key, more).catch((error: Error) => error);
      if (!(broken instanceof Error)) expect(broken.bytes.toString(), key).to.contain('upstream_error');
      app.audio.sound = held().whole;
      const good = await speak(key, more);
      expect([good.status, isReplayed(good)], key).to.deep.equal([200, false]);
    }
  });

  once('return what the first would have received if it had not disconnected', async () => {
    const wav = await makeSound(app.folder, 'wav');
    const transcribe = (init?: RequestInit) =>
      ask('/v1/audio/transcriptions', 'heard', { body: toForm({ model: HEARING, file: fileOf(wav) }), ...init });
    const heard = Promise.withResolvers<void>();
    app.audio.transcribe = async () => {
      await heard.promise;
      return HEARD;
    };
    const sound = held();
    app.audio.sound = sound.halting;
    const leaving = new AbortController();
    const { signal } = leaving;
    const left = [
      transcribe({ signal }),
      speak('bare', {}, { signal }),
      speak('events', { stream_format: 'sse' }, { signal }),
    ];
    await until(() => app.audio.calls.length === 3);
    leaving.abort();
    const outcomes = await Promise.allSettled(left);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected', 'rejected']);
    const retries = [transcribe(), speak('bare'), speak('events', { stream_format: 'sse' })];
    await until(() => waits === 3);
    expect(app.audio.calls.some((call) => call.signal.aborted)).to.equal(false);
    heard.resolve();
    sound.go();
    const [text, bare, events] = await Promise.all(retries);
    if (!text || !bare || !events) throw new Error('no answers');
    expect([text, bare, events].map((answer) => [answer.status, isReplayed(answer)])).to.deep.equal([
      [200, true],
      [200, true],
      [200, true],
    ]);
    expect(JSON.parse(text.bytes.toString()).text).to.equal(HEARD.text);
    expect(bare.bytes.equals(Buffer.concat([tonePcm(1), tonePcm(1)]))).to.equal(true);
    expect(events.bytes.toString()).to.contain('speech.audio.done');
    expect(app.audio.calls).to.have.length(3);
    expect((await entries(3)).map(({ status }) => status)).to.deep.equal(Array.from({ length: 3 }, () => 200));
  });

  for (const [what, stays] of [
    ['flow as they come while they are kept', true],
    ['are answered with all of a sound whose first listener left in the middle', false],
  ] as const) {
    once(what, async () => {
      const sound = held();
      app.audio.sound = sound.halting;
      const leaving = new AbortController();
      const response = await fetch(app.url + SPEECH, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json', 'idempotency-key': 'one' },
        body: JSON.stringify(HELLO),
        signal: leaving.signal,
      });
      const reader = response.body?.getReader();
      expect((await reader?.read())?.value?.length).to.be.above(0);
      if (!stays) leaving.abort();
      const retry = stays ? undefined : speak('one');
      if (retry) await until(() => waits === 1);
      sound.go();
      while (stays && !(await reader?.read())?.done) {}
      // Whoever has heard all of it gets it again.
      const again = await (retry ?? speak('one'));
      expect([isReplayed(again), again.bytes.length]).to.deep.equal([true, 2 * tonePcm(1).length]);
      expect((await entries(1)).map(({ status }) => status)).to.deep.equal(Array.from({ length: 1 }, () => 200));
    });
  }

  once('are recorded as they ended, with or without a client', async () => {
    const sound = held();
    app.audio.sound = sound.failing;
    const leaving = new AbortController();
    const left = speak('one', {}, { signal: leaving.signal }).catch((error: Error) => error);
    await until(() => app.audio.calls.length === 1);
    leaving.abort();
    expect(await left).to.be.instanceOf(Error);
    const retry = speak('one');
    await until(() => waits === 1);
    sound.go();
    expect(codeOf(await retry)).to.deep.equal([502, 'upstream_error']);
    const written = await entries(1);
    expect(written.map(({ status, characters }) => [status, characters ?? null])).to.deep.equal([[502, null]]);
  });

  once('get 409 with Retry-After when the first one takes too long', async () => {
    const sound = held();
    app.audio.sound = sound.halting;
    const first = speak('one');
    await until(() => app.audio.calls.length === 1);
    app.state.idempotentResponses.waitFor = async () => {
      later = 300_000;
      return undefined;
    };
    const second = await speak('one');
    expect(codeOf(second)).to.deep.equal([409, 'idempotency_in_progress']);
    expect(Number(second.headers.get('retry-after'))).to.be.above(0);
    sound.go();
    expect((await first).status).to.equal(200);
    expect(isReplayed(await speak('one'))).to.equal(true);
  });

  once('continue few first requests without a client, and end others with theirs', async () => {
    const sound = held();
    app.audio.sound = sound.halting;
    const leaving = new AbortController();
    const { signal } = leaving;
    const left = Array.from({ length: 65 }, (_, index) => speak(`key-${index}`, {}, { signal }));
    await until(() => app.audio.calls.length === 65);
    leaving.abort();
    await Promise.allSettled(left);
    await until(() => app.audio.calls.filter((call) => call.signal.aborted).length === 1);
    sound.go();
    await entries(65);
    const again = await Promise.all(left.map((_, index) => speak(`key-${index}`)));
    expect(again.filter((answer) => !isReplayed(answer))).to.have.length(1);
    expect(app.audio.calls).to.have.length(66);
  });

  once('start anew after a day', async () => {
    const first = await speak('one');
    ahead = DAY_MS - 60_000;
    expect(isReplayed(await speak('one'))).to.equal(true);
    ahead = DAY_MS + 1_000;
    const later = await speak('one', { input: 'Something else.' });
    expect([first.status, later.status, isReplayed(later)]).to.deep.equal([200, 200, false]);
  });

  once('report that no further response is stored, and are answered', async () => {
    const { idempotentResponses } = app.state;
    const claim = idempotentResponses.claim.bind(idempotentResponses);
    idempotentResponses.claim = async (request) => {
      const claimed = await claim(request);
      return claimed.state === 'begun' ? { ...claimed, work: { ...claimed.work, room } } : claimed;
    };
    let room = 0;
    const first = await speak('one');
    expect([first.status, first.headers.get('idempotency-kept')]).to.deep.equal([200, 'false']);
    // A sound that turns out too long in the middle is sent all the same.
    room = 10_000;
    const second = await speak('one');
    expect([isReplayed(second), second.bytes.equals(first.bytes)]).to.deep.equal([false, true]);
    room = 1_000_000;
    expect(isReplayed(await speak('one'))).to.equal(false);
    expect(isReplayed(await speak('one'))).to.equal(true);
  });

  it('are answered when the storage fails, and start anew', async () => {
    const { files } = app.state;
    const { write } = files;
    files.write = () => Promise.reject(new GatewayError('upstream_unavailable', 'The disk is full.'));
    expect((await speak('one')).status).to.equal(200);
    files.write = async ({ body, ...file }) => {
      for await (const piece of body as AsyncIterable<Uint8Array>) {
        if (piece.length > 0) throw new GatewayError('upstream_unavailable', `No room for ${file.name}.`);
      }
      return 'local_cache';
    };
    expect(isReplayed(await speak('one'))).to.equal(false);
    files.write = write;
    expect(isReplayed(await speak('one'))).to.equal(false);
    expect(isReplayed(await speak('one'))).to.equal(true);
    expect(app.log.filter(({ message }) => message.includes('could not be stored'))).to.have.length(2);
  });

  once('do not start anew when a stored response cannot be read', async () => {
    await speak('one');
    const { files } = app.state;
    const { read } = files;
    files.read = async () => undefined;
    const answer = await speak('one');
    expect(codeOf(answer)).to.deep.equal([503, 'upstream_unavailable']);
    expect(Number(answer.headers.get('retry-after'))).to.be.above(0);
    files.read = read;
    expect(isReplayed(await speak('one'))).to.equal(true);
    expect(app.audio.calls).to.have.length(1);
  });
});

/** Two seconds of a tone, the second of them once `rest` has come. */
async function* halves(rest: Promise<void>): AsyncGenerator<Uint8Array> {
  yield tonePcm(1);
  await rest;
  yield tonePcm(1);
}

async function* breaking(): AsyncGenerator<Uint8Array> {
  yield tonePcm(1);
  await new Promise((resolve) => setImmediate(resolve));
  throw new GatewayError('upstream_error', 'The model broke off.');
}

/** Sounds that wait for a word. */
function held() {
  const { promise: word, resolve } = Promise.withResolvers<void>();
  async function* nothing(): AsyncGenerator<Uint8Array> {
    yield await word.then(() => Promise.reject(new GatewayError('upstream_error', 'The model failed.')));
  }
  return {
    go: () => resolve(),
    whole: (): AudioStream => ({ body: tonePieces(), format: 'pcm' }),
    halting: (): AudioStream => ({ body: halves(word), format: 'pcm' }),
    failing: (): AudioStream => ({ body: nothing(), format: 'pcm' }),
  };
}
