import type { SoundStream, SpeechFormat } from '../contracts/index.js';

/** Enough of a sound to know it by. */
const HEAD_BYTES = 12;

/**
 * The format that bytes begin as; undefined for what has no mark of its own, as PCM has none.
 * @param head 12 bytes at least, where there are as many.
 */
export function soundFormat(head: Uint8Array): Exclude<SpeechFormat, 'pcm'> | undefined {
  const marked = markedFormat(head);
  if (marked) return marked;
  const [first = 0, second = 0] = head;
  // Eleven bits say that a frame begins; the two of the layer are zero in AAC alone.
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  return (second & 0x06) === 0 ? 'aac' : 'mp3';
}

function markedFormat(head: Uint8Array): 'mp3' | 'opus' | 'flac' | 'wav' | undefined {
  const text = Buffer.from(head.subarray(0, HEAD_BYTES)).toString('latin1');
  if (/^RIFF[\s\S]{4}WAVE/.test(text)) return 'wav';
  if (text.startsWith('OggS')) return 'opus';
  if (text.startsWith('fLaC')) return 'flac';
  return text.startsWith('ID3') ? 'mp3' : undefined;
}

/**
 * Waits for the first bytes of a sound, so that what is none is found out while somebody else may still be asked. The body
 * goes on from there.
 * @param asked what was asked for: samples may look like the beginning of a frame, and are believed to be PCM.
 * @returns undefined where it is no sound; the body is left then.
 */
export async function openSound(
  body: AsyncIterable<Uint8Array>,
  asked: SpeechFormat,
): Promise<Pick<SoundStream, 'body' | 'format'> | undefined> {
  const chunks = body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let length = 0;
  while (length < HEAD_BYTES) {
    const next = await chunks.next();
    if (next.done) break;
    read.push(next.value);
    length += next.value.length;
  }
  const head = Buffer.concat(read);
  const format = asked === 'pcm' ? (markedFormat(head) ?? 'pcm') : soundFormat(head);
  if (length === 0 || format === undefined) {
    await chunks.return?.();
    return undefined;
  }
  return { format, body: { [Symbol.asyncIterator]: () => resumed(head, chunks) } };
}

/** No generator: one that waits for a chunk would not notice that its reader has left. */
function resumed(head: Uint8Array, chunks: AsyncIterator<Uint8Array>): AsyncIterator<Uint8Array> {
  let first: Uint8Array | undefined = head;
  return {
    async next() {
      if (!first) return chunks.next();
      const value = first;
      first = undefined;
      return { done: false, value };
    },
    async return() {
      first = undefined;
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
}
