/** Audio from a model to its reader: transcoding, usage, failures and aborts. */

import { expect } from 'chai';
import { type AudioStream, GatewayError, isGatewayError, type SpeechFormat } from 'mediagate';
import { openAudioResponse } from '../../../core/audio/audio.js';
import { Ffmpeg } from '../../../core/media/ffmpeg.js';
import type { PluginHost } from '../../../core/plugins/plugin-host.js';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { tonePcm } from '../../support/audio/sounds.js';
import { rejection } from '../../support/rejection.js';

/** A way into a plugin without its deadline. */
const host: Pick<PluginHost, 'call' | 'policy'> = {
  call: (_kind, _entry, signal, work) => work(signal ?? new AbortController().signal),
  policy: () => ({
    timeoutMs: 1_000,
    standIn: undefined,
    hideOptions: (text) => text,
    failureOf: (_kind, thrown) =>
      isGatewayError(thrown) ? thrown : new GatewayError('upstream_changed', 'Not understood.'),
  }),
};

describe('streamed audio of a model', () => {
  const ffmpeg = new Ffmpeg(ffmpegPath ?? '');

  function open(
    stream: Partial<AudioStream>,
    more: { format?: SpeechFormat; signal?: AbortSignal; idleMs?: number } = {},
  ) {
    return openAudioResponse({
      host,
      entry: 'parrot',
      format: 'pcm',
      counted: { characters: 5, estimated: true },
      ffmpeg,
      signal: new AbortController().signal,
      ...more,
      ask: async (signal) => ({ format: 'pcm', body: endless(signal), ...stream }),
    });
  }

  it("reports the model's usage, or else its own count", async () => {
    const told = await open({ body: some(2), usage: Promise.resolve({ characters: 7 }) });
    expect(await lengthOf(told.body)).to.equal(2_000);
    expect(await told.ended).to.deep.equal({ usage: { characters: 7 } });
    const impossible = [{ characters: Number.NaN }, { seconds: -1 }].map((usage) => Promise.resolve(usage));
    for (const usage of [undefined, ...impossible, Promise.resolve(undefined), Promise.reject(new Error('lost'))]) {
      const untold = await open({ body: some(1), ...(usage && { usage }) });
      await lengthOf(untold.body);
      expect(await untold.ended).to.deep.equal({ usage: { characters: 5, estimated: true } });
    }
  });

  for (const format of ['pcm', 'mp3'] as const) {
    it(`gives up a model that stops in the middle of ${format}`, async () => {
      let isHeard = false;
      const sound = await open({ body: stallingWhen(() => isHeard) }, { format, idleMs: 200 });
      isHeard = true;
      expect(await rejection(lengthOf(sound.body))).to.include({ code: 'upstream_timeout' });
      const { failure, usage } = await sound.ended;
      expect(failure?.code).to.equal('upstream_timeout');
      expect(usage).to.deep.equal({ characters: 5, estimated: true });
    });
  }

  it('reports errors of a plugin as failures of the model', async () => {
    const sound = await open({ body: throwing(new Error('secret')) });
    const failure = await rejection(lengthOf(sound.body));
    expect(failure).to.include({ code: 'upstream_changed' });
    expect((failure as Error).message).not.to.include('secret');
    expect(await rejection(open({ body: throwing(new GatewayError('moderation_blocked', 'No.'), 0) }))).to.include({
      code: 'moderation_blocked',
    });
  });

  it('aborts the model when the reader leaves, on abort, and without a reader', async () => {
    const seen: AbortSignal[] = [];
    const watched = (signal: AbortSignal) => {
      seen.push(signal);
      return endless(signal);
    };
    const ask = async (signal: AbortSignal): Promise<AudioStream> => ({ format: 'pcm', body: watched(signal) });
    const options = { host, entry: 'parrot', counted: {}, ffmpeg };
    for (const format of ['pcm', 'mp3'] as const) {
      const left = await openAudioResponse({ ...options, format, ask, signal: new AbortController().signal });
      for await (const _ of left.body) break;
      expect(seen.at(-1)?.aborted, format).to.equal(true);
      expect((await left.ended).failure?.code).to.equal('bad_request');

      const stopping = new AbortController();
      const stopped = await openAudioResponse({ ...options, format, ask, signal: stopping.signal });
      setTimeout(() => stopping.abort(new GatewayError('shutting_down', 'Bye.')), 20);
      expect(await rejection(lengthOf(stopped.body)), format).to.include({ code: 'shutting_down' });
      expect(seen.at(-1)?.aborted).to.equal(true);

      const ignoring = new AbortController();
      const ignored = await openAudioResponse({ ...options, format, ask, signal: ignoring.signal });
      ignoring.abort(new Error('gone'));
      expect((await ignored.ended).failure?.code).to.equal('bad_request');
      expect(seen.at(-1)?.aborted).to.equal(true);
    }
  });

  it('needs ffmpeg only for transcoding, and reports a missing one', async () => {
    const options = { host, entry: 'parrot', counted: {} };
    const signal = new AbortController().signal;
    const ask = async (): Promise<AudioStream> => ({ format: 'pcm', body: some(1) });
    const wav = await openAudioResponse({ ...options, format: 'wav', ask, signal });
    expect(await lengthOf(wav.body)).to.equal(1_044);
    expect(await rejection(openAudioResponse({ ...options, format: 'mp3', ask, signal }))).to.include({
      code: 'plugin_unavailable',
      param: 'response_format',
    });
  });
});

async function lengthOf(body: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const chunk of body) length += chunk.length;
  return length;
}

async function* some(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield new Uint8Array(1_000);
}

async function* endless(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  while (!signal.aborted) {
    yield tonePcm(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Goes on until it may stop: a coder takes its time until its first piece is there. */
async function* stallingWhen(mayStop: () => boolean): AsyncGenerator<Uint8Array> {
  while (!mayStop()) {
    yield tonePcm(2);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await new Promise(() => undefined);
}

async function* throwing(error: Error, count = 1): AsyncGenerator<Uint8Array> {
  yield* some(count);
  throw error;
}
