/*
 * Finds the texts of requests and answers whose tokens are counted. Texts are sampled here, on the thread that parsed
 * the body; only a beginning is stored, and the length of all scales the count.
 *
 * Of a request, this is what a model reads: texts, names, images, files, and files that are only named. Files within it
 * are only noticed, and are read in a thread of their own if their tokens must be known (`file-counter.ts`). A field
 * counts as a file only where the formats have files: within the definitions and the arguments of tools, every string
 * is text. Of an answer, this is what the model wrote, where its upstream reports no usage: it is collected from the
 * bytes of answers and events. Whole answers and streams go through the same code, which keeps their estimates equal.
 */

import { asRecord, type JsonRecord } from '../../runtime/index.js';
import { isText, type TextVisitor, walkTexts } from '../json.js';

/** A text of unknown length: its beginning, and its length. */
export interface TextSample {
  text: string;
  /** Ratio of the whole length to the stored part; at least 1. */
  scale: number;
}

/** The input text of a request, and how much it has besides. */
export interface PromptSample extends TextSample {
  /** Number of messages, or of items. */
  messages: number;
  /** Upper estimate of the tokens of names, numbers and images in the request. */
  otherTokens: number;
  /** Numbers in lists of numbers: the tokens of an input that is sent as tokens. */
  listedTokens: number;
  /** Whether it names files that are elsewhere. */
  namesFiles: boolean;
  /** Whether it has files, or audio. */
  holdsFiles: boolean;
}

/** Maximum bytes or letters of a stored text. More would cost all streams for the few that are aborted. */
export const MAX_STORED_BYTES = 32 * 1024;

/** Upper estimate of an image: one has no more tokens for more bytes. */
export const IMAGE_TOKENS = 4_096;

const BYTES_PER_TOKEN = 4;

/** Texts that a model does not read as they are, and how many of their letters may be a token. */
const UNREAD_FIELDS: ReadonlyMap<string, number> = new Map([
  ...['id', 'call_id', 'tool_call_id', 'type', 'role', 'status', 'detail', 'signature'].map(
    (name) => [name, 2] as const,
  ),
  ['encrypted_content', 4],
]);
/** Thoughts that only their vendor can read, in the field `data`. */
const ENCRYPTED_TYPES: ReadonlySet<unknown> = new Set(['redacted_thinking', 'reasoning.encrypted']);
/** Its `result` is an image. */
const IMAGE_ITEM = 'image_generation_call';
/** Fields that the model reads. */
const PROMPT_FIELDS = ['system', 'messages', 'input', 'instructions', 'prompt'];
/** Fields, at any depth, in which every string is text. */
const PLAIN_FIELDS = ['tools', 'functions', 'text', 'response_format'];
const PLAIN_WITHIN: ReadonlySet<string> = new Set([
  ...PLAIN_FIELDS,
  'input',
  'arguments',
  'parameters',
  'input_schema',
]);
/** Fields with the address of an image, or with the image. */
const IMAGE_FIELDS: ReadonlySet<string> = new Set(['image_url', 'image', 'b64_json']);
/** Fields with the address of a file, or with the file. */
const FILE_FIELDS: ReadonlySet<string> = new Set([
  'file_data',
  'file_url',
  'document_url',
  'video_url',
  'audio_url',
  'input_audio',
]);
/** The beginnings, in base64, of a PDF and of archives: these are no images, also if the request says so. */
const NO_IMAGE = /^(?:JVBER|UEsDB|H4sI)/;

/** A field that holds an image or a file, or its address. */
interface HeldFile {
  kind: 'image' | 'file' | 'address';
  /** Base64, a data URL or an address. */
  data: string;
  /** Type as the request states it. */
  type?: string | undefined;
}

/** What a field of an object holds; undefined if it is no file. */
export function heldBy(owner: JsonRecord, name: string, field: unknown): HeldFile | undefined {
  const within = asRecord(field);
  if (name === 'source' && within) return heldBySource(owner, within);
  if (name === 'result' && owner.type === IMAGE_ITEM && typeof field === 'string') return heldIn(field, true);
  if (name === 'data' && typeof field === 'string' && owner.type !== 'text' && !ENCRYPTED_TYPES.has(owner.type)) {
    const type = [owner.media_type, owner.mime_type, owner.mimeType].find((one) => typeof one === 'string');
    return type === undefined ? undefined : heldIn(field, type.startsWith('image/'), type);
  }
  const isImage = IMAGE_FIELDS.has(name);
  if (!isImage && !FILE_FIELDS.has(name)) return undefined;
  const data = typeof field === 'string' ? field : (within?.url ?? within?.data);
  if (typeof data !== 'string') return undefined;
  // Some formats have such a field for a text.
  if (name === 'image' && !isAddress(data) && !/^\s*data:/i.test(data.slice(0, 40))) return undefined;
  return heldIn(data, isImage);
}

/** Of an image or a document in the format of messages. */
function heldBySource({ type: block }: JsonRecord, { type, url, data, media_type: stated }: JsonRecord) {
  if (type === 'url' && typeof url === 'string') return heldIn(url, block === 'image');
  if (type !== 'base64' || typeof data !== 'string') return undefined;
  return heldIn(data, block === 'image', typeof stated === 'string' ? stated : undefined);
}

function heldIn(data: string, isImage: boolean, stated?: string): HeldFile {
  if (isAddress(data)) return { kind: isImage ? 'image' : 'address', data };
  const found = /^\s*data:([^;,]*)/i.exec(data.slice(0, 200));
  const type = found?.[1]?.toLowerCase() ?? stated;
  const base64 = found ? data.slice(data.indexOf(',') + 1, data.indexOf(',') + 9) : data.slice(0, 8);
  const isShown = isImage ? type === undefined || type === '' || type.startsWith('image/') : false;
  return { kind: isShown && !NO_IMAGE.test(base64) ? 'image' : 'file', data, type };
}

function isAddress(text: string): boolean {
  return /^\s*[a-z][a-z\d+.-]*:\/\//i.test(text.slice(0, 40));
}

/** The input of a request. */
export function samplePrompt(parsed: JsonRecord): PromptSample {
  const counts: OtherCounts = { otherTokens: 0, listedTokens: 0, namesFiles: false, holdsFiles: false };
  const sample = sampleTexts(parsed, counts);
  const lengthOf = (list: unknown) => (Array.isArray(list) && typeof list[0] !== 'number' ? list.length : 1);
  return { ...sample, ...counts, messages: lengthOf(parsed.messages ?? parsed.input) };
}

type OtherCounts = Pick<PromptSample, 'otherTokens' | 'listedTokens' | 'namesFiles' | 'holdsFiles'>;

/** The texts in the values that a model reads, at any depth. @param counts Receives what they have besides. */
function sampleTexts(parsed: JsonRecord, counts: OtherCounts): TextSample {
  const texts: string[] = [];
  let stored = 0;
  let inAll = 0;
  /** Values, and whether all strings in each of them are text. */
  const open: unknown[] = [];
  const plain: boolean[] = [];
  const push = (value: unknown, isPlain: boolean) => {
    open.push(value);
    plain.push(isPlain);
  };
  for (const name of PLAIN_FIELDS) push(parsed[name], true);
  for (const name of PROMPT_FIELDS.toReversed()) push(parsed[name], false);
  while (open.length > 0) {
    const next = open.pop();
    const isPlain = plain.pop() === true;
    if (typeof next === 'string') {
      inAll += next.length;
      if (stored >= MAX_STORED_BYTES) continue;
      const text = next.slice(0, MAX_STORED_BYTES - stored);
      texts.push(text);
      stored += text.length;
    } else if (Array.isArray(next)) {
      if (typeof next[0] === 'number') counts.listedTokens += next.length;
      else for (const element of next.toReversed()) push(element, isPlain);
    } else if (typeof next === 'object' && next !== null) {
      const fields = next as JsonRecord;
      for (const [name, field] of Object.entries(fields).reverse()) {
        const held = isPlain ? undefined : heldBy(fields, name, field);
        const isRead = addOther(counts, fields, { name, field, held, isPlain });
        if (isRead) push(field, isPlain || PLAIN_WITHIN.has(name));
      }
    }
  }
  return { text: texts.join('\n'), scale: stored === 0 ? 1 : inAll / stored };
}

interface SampledField {
  name: string;
  field: unknown;
  held: HeldFile | undefined;
  isPlain: boolean;
}

/**
 * Adds what a field has besides texts. A token has at least one letter, and names have longer ones.
 * @returns Whether its texts are to be read.
 */
function addOther(counts: OtherCounts, owner: JsonRecord, { name, field, held, isPlain }: SampledField): boolean {
  counts.otherTokens += Math.ceil(name.length / 2) + 2;
  if (held) {
    if (held.kind === 'image') counts.otherTokens += IMAGE_TOKENS;
    else if (held.kind === 'address') counts.namesFiles = true;
    else counts.holdsFiles = true;
    return false;
  }
  if (typeof field === 'number') counts.otherTokens += String(field).length;
  if (typeof field !== 'string') return true;
  if (name === 'file_id' && !isPlain) counts.namesFiles = true;
  const lettersPerToken = name === 'data' && ENCRYPTED_TYPES.has(owner.type) ? 4 : UNREAD_FIELDS.get(name);
  if (lettersPerToken === undefined) return true;
  counts.otherTokens += Math.ceil(field.length / lettersPerToken);
  return false;
}

/** A file in the body of a request. */
export interface InlineFile extends HeldFile {
  /** Where it is, such as `messages[0].content[1].file.file_data`. */
  path: string;
  /** Its name. Default: none. */
  filename?: string;
}

/** The files in a request, but for images and addresses. Its values are not nested deeply. */
export function filesIn(parsed: JsonRecord): InlineFile[] {
  const files: InlineFile[] = [];

  function walk(value: unknown, path: string): void {
    if (Array.isArray(value)) {
      if (typeof value[0] !== 'number') value.forEach((element, index) => void walk(element, `${path}[${index}]`));
      return;
    }
    const fields = asRecord(value);
    if (!fields) return;
    for (const [name, field] of Object.entries(fields)) {
      const held = heldBy(fields, name, field);
      const place = `${path}.${name}`;
      if (!held) {
        if (!PLAIN_WITHIN.has(name)) walk(field, place);
      } else if (held.kind === 'file') {
        const { filename } = fields;
        files.push({
          ...held,
          path: name === 'source' ? `${place}.data` : place,
          ...(typeof filename === 'string' && { filename }),
        });
      }
    }
  }

  for (const name of PROMPT_FIELDS) walk(parsed[name], name);
  return files;
}

/** Estimates the tokens of a body by its length; at least 1. */
export function inputTokensOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BYTES_PER_TOKEN));
}

export const NO_TEXT: TextSample = { text: '', scale: 1 };

/** Fields with text of a model. Other texts are ids, types, signatures, encrypted content, images and tokens of log probabilities. */
const WRITTEN = ['content', 'text', 'arguments', 'refusal', 'input', 'code', 'transcript'];
/** Streams of a response do not have the names of functions. The last one is of messages. */
const WRITTEN_IN_CHATS = [...WRITTEN, 'name', 'partial_json'];
/** A stream has the thoughts before the words, and a whole answer may have them after. */
const THOUGHTS = ['reasoning_content', 'reasoning', 'thinking'];
/** Fields whose texts are not the model's, or are elsewhere as well. */
const NOT_WRITTEN = ['logprobs', 'annotations', 'reasoning_details', 'results', 'outputs', 'output', 'tools'];
/** Some servers send the input of a tool as an object. */
const INPUTS = ['arguments', 'input'];
const ANSWER_LISTS = ['choices', 'output', 'content'];
/** Further choices share the last place. */
const MAX_CHOICES = 16;
const MAX_CHOICE_BYTES = 4 * 1024;
const FIRST_BYTES = 1_024;

/** What a model wrote in one answer. */
export class WrittenText implements TextVisitor {
  readonly #fields: readonly string[];
  readonly #words: SampledTexts[] = [];
  readonly #thoughts: SampledTexts[] = [];
  #place = 0;
  #isAnswer = false;

  constructor(isResponse: boolean) {
    this.#fields = isResponse ? WRITTEN : WRITTEN_IN_CHATS;
  }

  /**
   * Adds the texts of a message, a delta or a list of output items: JSON from `start` to `end`.
   * @param choice Index of the choice that it belongs to.
   */
  add(bytes: Uint8Array, start: number, end: number, choice = 0): void {
    this.#place = Math.max(0, Math.min(choice, MAX_CHOICES - 1)) || 0;
    walkTexts(bytes, start, end, this);
  }

  /** Adds the content between the quotes of a JSON text. */
  addText(bytes: Uint8Array, start: number, end: number): void {
    this.#place = 0;
    this.#addTo(this.#words, bytes, start, end);
  }

  /** Adds the texts of a whole answer, which may be cut off. */
  addAnswer(bytes: Uint8Array): void {
    this.#place = 0;
    this.#isAnswer = true;
    walkTexts(bytes, 0, bytes.length, this);
    this.#isAnswer = false;
  }

  get isEmpty(): boolean {
    return this.#words.length === 0 && this.#thoughts.length === 0;
  }

  take(): TextSample {
    const all = [...this.#thoughts, ...this.#words].filter((texts) => texts !== undefined);
    const stored = all.reduce((sum, texts) => sum + texts.storedBytes, 0);
    const inAll = all.reduce((sum, texts) => sum + texts.bytes, 0);
    return { text: all.map((texts) => texts.text()).join(''), scale: stored === 0 ? 1 : inAll / stored };
  }

  nested(bytes: Uint8Array, nameStart: number, nameEnd: number, depth: number): 'read' | 'skip' | 'take' {
    const isNamed = (name: string) => isText(bytes, nameStart, nameEnd, name);
    if (this.#isAnswer && depth === 1) return ANSWER_LISTS.some(isNamed) ? 'read' : 'skip';
    if (NOT_WRITTEN.some(isNamed)) return 'skip';
    return INPUTS.some(isNamed) ? 'take' : 'read';
  }

  text(bytes: Uint8Array, nameStart: number, nameEnd: number, start: number, end: number): void {
    for (const name of this.#fields) {
      if (!isText(bytes, nameStart, nameEnd, name)) continue;
      this.#addTo(this.#words, bytes, start, end);
      return;
    }
    if (THOUGHTS.some((name) => isText(bytes, nameStart, nameEnd, name)))
      this.#addTo(this.#thoughts, bytes, start, end);
  }

  #addTo(places: SampledTexts[], bytes: Uint8Array, start: number, end: number): void {
    const place = this.#place;
    let texts = places[place];
    if (!texts) {
      texts = new SampledTexts(place === 0 ? MAX_STORED_BYTES : MAX_CHOICE_BYTES);
      places[place] = texts;
    }
    texts.add(bytes, start, end);
  }
}

/** Collects JSON texts, without their quotes, up to a number of bytes. */
class SampledTexts {
  readonly #maxBytes: number;
  #stored: Buffer | undefined;
  /** Bytes of all texts, and of the stored part. */
  bytes = 0;
  storedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Uint8Array, start: number, end: number): void {
    this.bytes += end - start;
    const length = Math.min(end - start, this.#maxBytes - this.storedBytes);
    if (length <= 0) return;
    // Not from Node's pool: a part stored during a stream would keep all 64 KiB of the pool.
    let stored = this.#stored ?? Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, length));
    if (this.storedBytes + length > stored.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(stored.length * 2, this.storedBytes + length));
      stored.copy(larger, 0, 0, this.storedBytes);
      stored = larger;
    }
    stored.set(bytes.subarray(start, start + length), this.storedBytes);
    this.#stored = stored;
    this.storedBytes += length;
  }

  /** The stored part. */
  text(): string {
    return plainText(this.#stored?.toString('utf8', 0, this.storedBytes) ?? '');
  }
}

function plainText(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`);
  } catch {
    // The stored part may end in the middle of an escape.
    return raw;
  }
}

/** The beginning of an incomplete answer. */
export function sampleBytes(chunks: readonly Uint8Array[]): TextSample {
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (bytes === 0) return NO_TEXT;
  const text = Buffer.concat(chunks, Math.min(bytes, MAX_STORED_BYTES)).toString('utf8');
  return { text, scale: Math.max(1, bytes / MAX_STORED_BYTES) };
}
