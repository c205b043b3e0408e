import { createHash } from 'node:crypto';
import type { Clock, FileStat, LogFields, Logger, Storage } from '../contracts/index.js';
import { systemClock } from '../runtime/index.js';

/** Files in memory. */
export function createMemoryStorage(clock: Clock = systemClock): Storage & { readonly names: readonly string[] } {
  const files = new Map<string, Omit<FileStat, 'name' | 'size' | 'source'> & { bytes: Buffer }>();
  const statOf = (name: string) => {
    const file = files.get(name);
    if (!file || (file.expiresAt && file.expiresAt.getTime() <= clock.now())) return undefined;
    const { bytes, ...stat } = file;
    return { name, ...stat, size: bytes.length, source: 'local_cache' as const };
  };
  return {
    get names() {
      return [...files.keys()];
    },
    async write({ name, contentType, expiresAt, body }) {
      const chunks: Uint8Array[] = [];
      if (body instanceof Uint8Array) chunks.push(body);
      else for await (const chunk of body) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
      files.set(name, { bytes, contentType, modifiedAt: new Date(clock.now()), etag, ...(expiresAt && { expiresAt }) });
      return 'local_cache';
    },
    async read(name, range) {
      const stat = statOf(name);
      const bytes = files.get(name)?.bytes;
      if (!stat || !bytes) return undefined;
      const part = range ? bytes.subarray(range.start, range.end + 1) : bytes;
      return { ...stat, body: oneChunk(part) };
    },
    stat: async (name) => statOf(name),
    async delete(name) {
      files.delete(name);
    },
  };
}

export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: LogFields;
}

/** Keeps every line. */
export function createRecordingLogger(): Logger & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine['level']) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
