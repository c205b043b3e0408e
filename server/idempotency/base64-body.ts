import type { StoredBody } from 'mediagate';

/** Three bytes are four letters. */
const GROUP = 3;
/** A text that no encoder of ours writes, to be replaced. */
const MARK = 'base64 goes here';

export interface LongBody {
  bytes: AsyncIterable<Uint8Array>;
  length: number;
}

/**
 * JSON with a file in base64 in one place of it. The file passes through a little at a time: as one text, a picture would
 * be in memory three times over, and everybody else would wait while it is put together.
 * @param encode Makes the value around the text that it is given.
 */
export function encodeAround(file: StoredBody, encode: (base64: string) => unknown): LongBody {
  const [head = '', tail = ''] = JSON.stringify(encode(MARK)).split(MARK);
  const letters = Math.ceil(file.size / GROUP) * 4;
  return {
    bytes: pieces(Buffer.from(head), file.body, Buffer.from(tail)),
    length: Buffer.byteLength(head) + letters + Buffer.byteLength(tail),
  };
}

async function* pieces(head: Uint8Array, file: AsyncIterable<Uint8Array>, tail: Uint8Array) {
  yield head;
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of file) {
    const joined = Buffer.concat([rest, chunk]);
    const whole = joined.length - (joined.length % GROUP);
    yield Buffer.from(joined.toString('base64', 0, whole), 'latin1');
    rest = joined.subarray(whole);
  }
  yield Buffer.from(Buffer.from(rest).toString('base64'), 'latin1');
  yield tail;
}
