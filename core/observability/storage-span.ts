import type { Storage } from '../contracts/index.js';
import { inSpan } from './work-scope.js';

/** The same files; what is written is a span. */
export function writeInSpans(storage: Storage): Storage {
  return {
    write: (file) =>
      inSpan({ name: 'file put', attributes: { 'mediagate.content_type': file.contentType } }, async (span) => {
        const source = await storage.write(file);
        span?.set({ 'mediagate.file.source': source });
        return source;
      }),
    read: (name, range) => storage.read(name, range),
    stat: (name) => storage.stat(name),
    delete: (name) => storage.delete(name),
  };
}
