import type { Clock, HttpStream } from '../contracts/index.js';

/** What an upstream answered instead of doing its work. */
export interface UpstreamRefusal {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Its JSON; undefined where it is none, is long (somebody's page), or is slow to come. */
  json: unknown;
}

/** What is only theirs and ours, and nothing for clients. */
export interface UpstreamNames {
  /** Base address. */
  url: string;
  apiKey?: string;
  /** The upstream's own name of the model. */
  model: string;
  /** What the caller calls it. */
  publicModel: string;
}

const MAX_BYTES = 64 * 1024;
const PATIENCE_MS = 5_000;

/** Reads what explains a refusal. The status says enough, so nobody waits for the rest of a body, and no error of it counts. */
export async function readRefusal(response: HttpStream, clock: Clock): Promise<UpstreamRefusal> {
  const { status, headers } = response;
  return { status, headers, json: await readJson(response.body, clock) };
}

async function readJson(body: AsyncIterable<Uint8Array>, clock: Clock): Promise<unknown> {
  const done = new AbortController();
  const chunks = body[Symbol.asyncIterator]();
  clock.sleep(PATIENCE_MS, done.signal).then(
    () => chunks.return?.(),
    () => {},
  );
  try {
    const read: Uint8Array[] = [];
    let length = 0;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      length += next.value.length;
      if (length > MAX_BYTES) return undefined;
      read.push(next.value);
    }
    return JSON.parse(Buffer.concat(read).toString('utf8'));
  } catch {
    // No JSON, or it broke off.
    return undefined;
  } finally {
    done.abort();
    await chunks.return?.();
  }
}

/**
 * How long to wait, in seconds: `retry-after-ms`, which some send beside it, or `Retry-After`, whether it says seconds or a
 * date; undefined where it is neither.
 */
export function retryAfterSeconds({ headers }: Pick<UpstreamRefusal, 'headers'>, now = Date.now()): number | undefined {
  const milliseconds = headers['retry-after-ms'];
  if (milliseconds !== undefined && /^\d{1,15}(?:\.\d+)?$/.test(milliseconds)) return Number(milliseconds) / 1000;
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const seconds = /^\d+$/.test(text.trim()) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** An upstream's message as a caller may read it: without keys, addresses, ids, and its name of the model. */
export function withoutNames(words: string, { url, apiKey, model, publicModel }: UpstreamNames): string {
  const plain = apiKey ? words.replaceAll(apiKey, '…') : words;
  return plain
    .replaceAll(model, publicModel)
    .replaceAll(new URL(url).host, '…')
    .replace(/\b[a-z][a-z0-9+.-]{0,30}:\/\/\S+/gi, '…')
    .replace(/\b(?:sk|req|org|proj)[-_][A-Za-z0-9_-]{6,}/g, '…');
}
