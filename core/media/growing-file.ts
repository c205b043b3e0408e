import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** A file that is read while it is still being written: readers go at their own pace and hold up nobody. */
export interface GrowingFile {
  /** Bytes so far. */
  readonly size: number;
  /** True once nothing more comes, be it whole or not. */
  readonly ended: boolean;
  /** The chunk is handed on as it is to those who have read all before it. */
  append(chunk: Uint8Array): Promise<void>;
  /** It is whole: readers end where it ends. */
  finish(): void;
  /** It will never be whole: readers get what there is, and then this error. */
  fail(error: unknown): void;
  /**
   * From the first byte to the last, waiting for what is still to come. To be read once, to its end or until it is told to
   * return; until then the file stays open. Undefined once it is closed.
   */
  follow(): AsyncIterable<Uint8Array> | undefined;
  /** Its writer needs it no more; it is closed when the last reader has left. */
  release(): Promise<void>;
}

const CHUNK_BYTES = 64 * 1024;

/** @throws Error where the file exists, or cannot be made. */
export async function createGrowingFile(path: string): Promise<GrowingFile> {
  const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  let size = 0;
  let state: 'growing' | 'whole' | { failed: unknown } = 'growing';
  let users = 1;
  let newest: { start: number; chunk: Uint8Array } | undefined;
  let changed = Promise.withResolvers<void>();

  function wake(): void {
    changed.resolve();
    changed = Promise.withResolvers();
  }

  async function leave(): Promise<void> {
    users -= 1;
    if (users === 0) await handle.close();
  }

  async function* read(): AsyncGenerator<Uint8Array> {
    for (let position = 0; ; ) {
      const news = changed.promise;
      while (position < size) {
        if (newest?.start === position) {
          position += newest.chunk.byteLength;
          yield newest.chunk;
          continue;
        }
        const length = Math.min(CHUNK_BYTES, (newest && newest.start > position ? newest.start : size) - position);
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, position);
        if (bytesRead === 0) throw new Error('a file being written became shorter');
        position += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
      if (typeof state === 'object') throw state.failed;
      if (state === 'whole' && position === size) return;
      if (state === 'growing') await news;
    }
  }

  return {
    get size() {
      return size;
    },
    get ended() {
      return state !== 'growing';
    },
    async append(chunk) {
      for (let offset = 0; offset < chunk.byteLength; ) {
        const { bytesWritten } = await handle.write(chunk, offset, chunk.byteLength - offset, size + offset);
        offset += bytesWritten;
      }
      newest = { start: size, chunk };
      size += chunk.byteLength;
      wake();
    },
    finish() {
      state = 'whole';
      wake();
    },
    fail(error) {
      state = { failed: error };
      wake();
    },
    follow() {
      if (users === 0) return undefined;
      users += 1;
      const chunks = read();
      let here = true;
      const depart = async () => {
        if (!here) return;
        here = false;
        await leave();
      };
      return {
        [Symbol.asyncIterator]: () => ({
          async next() {
            try {
              const result = await chunks.next();
              if (result.done) await depart();
              return result;
            } catch (error) {
              await depart();
              throw error;
            }
          },
          async return() {
            // A generator that waits for more, or was never asked for anything, would not notice.
            await depart();
            return { done: true, value: undefined };
          },
        }),
      };
    },
    release: leave,
  };
}
