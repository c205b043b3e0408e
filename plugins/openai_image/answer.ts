/*
 * Reads answers with images while they arrive. The scan takes each base64 text out of the JSON and decodes it by
 * chunks, so that no step blocks the process for long and the JSON parser never sees megabytes of text. The JSON beside
 * the images is limited to 1 MiB. Base64 with errors gives no image, because half an image must not pass as a whole
 * one. Streams of events are read in the same way, one image at a time.
 */

import { at } from 'mediagate/plugin';

/** JSON of an answer, its images taken out: `b64_json` holds an index into `images`. */
export interface ScannedAnswer {
  json: unknown;
  /** Undefined where the text is not base64. */
  images: readonly (Buffer | undefined)[];
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MAX_JSON_BYTES = 1024 * 1024;
/** Enough to see the member's name, which ends where its value begins. */
const TAIL_BYTES = 32;
const IMAGE_FOLLOWS = /"b64_json"[ \t\r\n]*:[ \t\r\n]*$/;

/** Reads an answer piece by piece, so that megabytes of base64 never stand in the way of other work. */
export class AnswerScan {
  readonly #skeleton: Buffer[] = [];
  readonly #images: (Buffer | undefined)[] = [];
  #length = 0;
  #tail = '';
  #state: 'between' | 'text' | 'image' = 'between';
  #escaped = false;
  #decoder = new Base64Decoder();

  /** @throws SyntaxError where it is longer, besides its images, than such an answer can be. */
  push(bytes: Uint8Array): void {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let from = 0; from < chunk.length; ) {
      if (this.#state === 'text') {
        const end = this.#endOfText(chunk, from);
        this.#keep(chunk.subarray(from, end));
        from = end;
        continue;
      }
      const quote = chunk.indexOf(QUOTE, from);
      const end = quote < 0 ? chunk.length : quote;
      if (this.#state === 'image') {
        this.#decoder.push(chunk.toString('latin1', from, end));
        if (quote >= 0) {
          this.#keep(Buffer.from(String(this.#images.push(this.#decoder.end()) - 1)));
          this.#state = 'between';
        }
      } else {
        this.#keep(chunk.subarray(from, end));
        if (quote >= 0 && IMAGE_FOLLOWS.test(this.#tail)) {
          this.#decoder = new Base64Decoder();
          this.#state = 'image';
        } else if (quote >= 0) {
          this.#keep(chunk.subarray(quote, quote + 1));
          this.#state = 'text';
        }
      }
      from = end + 1;
    }
  }

  /** @throws SyntaxError where it is not JSON, or was cut. */
  end(): ScannedAnswer {
    if (this.#state !== 'between') throw new SyntaxError('cut');
    return { json: JSON.parse(Buffer.concat(this.#skeleton).toString('utf8')), images: this.#images };
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > MAX_JSON_BYTES) throw new SyntaxError('too long');
    // A copy: the chunk as a whole may be large and soon gone.
    this.#skeleton.push(Buffer.from(piece));
    this.#tail = (this.#tail + piece.toString('latin1')).slice(-TAIL_BYTES);
  }

  /** Index behind the quote that ends the text, or the end of the chunk. */
  #endOfText(chunk: Buffer, from: number): number {
    for (let index = from; index < chunk.length; index++) {
      if (this.#escaped) this.#escaped = false;
      else if (chunk[index] === BACKSLASH) this.#escaped = true;
      else if (chunk[index] === QUOTE) {
        this.#state = 'between';
        return index + 1;
      }
    }
    return chunk.length;
  }
}

/** Strict where Node's own decoder skips what it does not know: half an image is not passed off as one. */
class Base64Decoder {
  readonly #pieces: Buffer[] = [];
  #rest = '';
  #ok = true;

  push(text: string): void {
    const all = plain(this.#rest + text);
    if (this.#pieces.length === 0 && all.startsWith('data:')) {
      // Some servers put the head of a data URI before it.
      this.#rest = all.includes(',') ? '' : all;
      if (this.#rest === '') this.push(all.slice(all.indexOf(',') + 1));
      return;
    }
    const whole = all.endsWith('\\') ? (all.length - 1) & ~3 : all.length & ~3;
    // The last four stay: padding is only good at the very end.
    const upTo = Math.max(0, whole - 4);
    this.#rest = all.slice(upTo);
    if (this.#ok && upTo > 0) this.#decode(all.slice(0, upTo));
  }

  end(): Buffer | undefined {
    const last = this.#rest.replace(/={1,2}$/, '');
    if (last.length % 4 === 1) this.#ok = false;
    if (this.#ok) this.#decode(last);
    return this.#ok ? Buffer.concat(this.#pieces) : undefined;
  }

  #decode(text: string): void {
    const piece = Buffer.from(text, 'base64');
    if (piece.length !== Math.floor((text.length * 3) / 4)) this.#ok = false;
    this.#pieces.push(piece);
  }
}

/** Some encoders of JSON escape slashes, and some of base64 break lines; an escape may lie across two chunks. */
function plain(text: string): string {
  return text.includes('\\') ? text.replace(/\\[nr]/g, '').replaceAll('\\/', '/') : text;
}

/** The image of an answer, or where it lies. */
export type FoundImage = { bytes: Buffer } | { url: string };

const LINE_FEED = 0x0a;
const DATA = 'data:';

/**
 * The events of a stream, each with its image taken out; other lines than data are left out.
 * @throws SyntaxError where the data of one is not JSON.
 */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<ScannedAnswer> {
  let line: Uint8Array[] = [];
  for await (const bytes of body) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      const event = eventOf([...line, chunk.subarray(from, end)]);
      if (event) yield event;
      line = [];
      from = end + 1;
    }
    if (from < chunk.length) line.push(chunk.subarray(from));
  }
  const last = eventOf(line);
  if (last) yield last;
}

function eventOf(pieces: readonly Uint8Array[]): ScannedAnswer | undefined {
  const [head = new Uint8Array(), ...rest] = mergeStart(pieces);
  const start = Buffer.from(head).toString('latin1', 0, DATA.length);
  if (start !== DATA) return undefined;
  const data = head.subarray(DATA.length);
  if (rest.length === 0 && /^\s*(?:\[DONE\])?\s*$/.test(Buffer.from(data).toString('latin1', 0, 64))) return undefined;
  const scan = new AnswerScan();
  for (const piece of [data, ...rest]) scan.push(piece);
  return scan.end();
}

/** The first piece has the name of the line as a whole. */
function mergeStart(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  let count = 0;
  let length = 0;
  while (count < pieces.length && length < 64) length += pieces[count++]?.length ?? 0;
  return [Buffer.concat(pieces.slice(0, count)), ...pieces.slice(count)];
}

/** First image of an answer; undefined where there is none, or its base64 is damaged. */
export function findImage({ json, images }: ScannedAnswer): FoundImage | undefined {
  // An event has its image at the top.
  const first = at(json, 'data', 0) ?? json;
  const index = at(first, 'b64_json');
  const bytes = typeof index === 'number' ? images[index] : undefined;
  if (bytes) return bytes.length > 0 ? { bytes } : undefined;
  const url = at(first, 'url');
  return typeof url === 'string' && index === undefined ? { url } : undefined;
}

/** The seed of the image, which some servers report beside it or beside the list; undefined where there is none. */
export function findSeed({ json }: ScannedAnswer): number | undefined {
  const seed = [at(json, 'data', 0, 'seed'), at(json, 'seed')].find(Number.isSafeInteger);
  return seed as number | undefined;
}

/** Media type by the first bytes; undefined for what is no image that a model makes. */
export function imageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 12)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  return /^RIFF[\s\S]{4}WEBP/.test(head) ? 'image/webp' : undefined;
}
