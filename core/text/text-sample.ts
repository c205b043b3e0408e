/** Bytes of a text that are kept, or letters. More would make the few streams that are cut off dear for all the others. */
export const KEPT_BYTES = 32 * 1024;
const FIRST_BYTES = 1_024;

/** A text that may become long: its beginning, and how long it is. */
export interface TextSample {
  text: string;
  /** How many times as long the whole is; at least 1. */
  scale: number;
}

export const NO_TEXT: TextSample = { text: '', scale: 1 };

/** Gathers what a stream says, as the JSON texts that it says it in. */
export interface SampleTaker {
  /** Adds what stands between the quotes of a JSON text. */
  add(bytes: Uint8Array, start: number, end: number): void;
  take(): TextSample;
}

export function createSampleTaker(): SampleTaker {
  let kept: Buffer | undefined;
  let keptBytes = 0;
  let bytesInAll = 0;

  return {
    add(bytes, start, end) {
      bytesInAll += end - start;
      const length = Math.min(end - start, KEPT_BYTES - keptBytes);
      if (length <= 0) return;
      // Not of Node's pool: a part that is kept for as long as a stream takes keeps all 64 KiB of it.
      kept ??= Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, length));
      if (keptBytes + length > kept.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(kept.length * 2, keptBytes + length));
        kept.copy(larger, 0, 0, keptBytes);
        kept = larger;
      }
      kept.set(bytes.subarray(start, start + length), keptBytes);
      keptBytes += length;
    },
    take() {
      const raw = kept?.toString('utf8', 0, keptBytes) ?? '';
      return { text: plainText(raw), scale: keptBytes === 0 ? 1 : bytesInAll / keptBytes };
    },
  };
}

function plainText(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`);
  } catch {
    // What was kept ends in the middle of an escape.
    return raw;
  }
}

/** Members whose text is no text for a model: files and sounds, told in base64. */
const DATA_MEMBERS = new Set(['data', 'file_data', 'b64_json', 'image_url']);
/** What says how a request is to be answered, not what is asked. */
const PROMPT_MEMBERS = ['messages', 'input', 'instructions', 'tools', 'functions', 'prompt', 'text', 'response_format'];

/** What a request gives a model to read. */
export function samplePrompt(parsed: Readonly<Record<string, unknown>>): TextSample {
  return sampleTexts(PROMPT_MEMBERS.map((name) => parsed[name]));
}

/** All texts in a value, however deep. */
export function sampleTexts(value: unknown): TextSample {
  const texts: string[] = [];
  let kept = 0;
  let inAll = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') {
      if (next.startsWith('data:')) continue;
      inAll += next.length;
      if (kept >= KEPT_BYTES) continue;
      const text = next.slice(0, KEPT_BYTES - kept);
      texts.push(text);
      kept += text.length;
    } else if (Array.isArray(next)) {
      for (const element of next.toReversed()) open.push(element);
    } else if (typeof next === 'object' && next !== null) {
      for (const [name, member] of Object.entries(next).reverse()) if (!DATA_MEMBERS.has(name)) open.push(member);
    }
  }
  return { text: texts.join('\n'), scale: kept === 0 ? 1 : inAll / kept };
}

/** The beginning of an answer that did not come to its end. */
export function sampleBytes(chunks: readonly Uint8Array[]): TextSample {
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (bytes === 0) return NO_TEXT;
  const text = Buffer.concat(chunks, Math.min(bytes, KEPT_BYTES)).toString('utf8');
  return { text, scale: Math.max(1, bytes / KEPT_BYTES) };
}
