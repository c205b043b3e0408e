import { open } from 'node:fs/promises';
import type { SamplesCall, SoundFilters } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { type Container, SNIFF_BYTES, sniffContainer } from './container.js';
import type { Ffmpeg, SampleMaking } from './ffmpeg.js';

/** What plugins get of ffmpeg. */
export function createSoundFilters(ffmpeg: Ffmpeg): SoundFilters {
  return {
    available: true,
    async *samples({ sound, signal, ...call }: SamplesCall) {
      const source = sound && { input: sound.path, container: await containerOf(sound.path) };
      yield* pulled(signal, (ends, write) =>
        ffmpeg.makeSamples({ ...call, ...(source && { source }), signal: ends, write }),
      );
    },
  };
}

/** The file itself is asked, not whoever named it. */
async function containerOf(path: string): Promise<Container> {
  await using file = await open(path);
  const { bytesRead, buffer } = await file.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0);
  const container = sniffContainer(buffer.subarray(0, bytesRead));
  if (container) return container;
  throw new GatewayError('audio_unavailable', 'The file is in no form that sound is read from.', { retryable: false });
}

/** Turns one who writes into one who is read from; each chunk waits for the reader. */
async function* pulled(
  signal: AbortSignal,
  run: (ends: AbortSignal, write: SampleMaking['write']) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  const left = new AbortController();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const running = run(AbortSignal.any([signal, left.signal]), (chunk) => writer.write(chunk)).then(
    () => writer.close(),
    (error) => writer.abort(error),
  );
  // Its failure is the reader's to see, and one who has left wants none.
  running.catch(() => undefined);
  try {
    for await (const chunk of readable) yield chunk;
  } finally {
    left.abort();
    await running.catch(() => undefined);
  }
}
