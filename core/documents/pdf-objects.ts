/*
 * Finds the objects of a PDF file by their numbers. It searches for their headers ("5 0 obj") and for object streams,
 * and ignores the tables of the file, which may be wrong and which readers follow in different ways. So an object may
 * have several versions, and callers get all of them. Content of streams is unpacked at its first use and cached,
 * within the limits of the request. Unknown filters, predictors and encryption make the file unreadable, since text in
 * it would be missed. A file has at most 500,000 objects.
 */

import { inflateRawSync } from 'node:zlib';
import { type ReadingLimits, tooLarge, UnreadableDocument } from './limits.js';
import { isDict, type PdfDict, PdfName, PdfReader, PdfReference, type PdfValue, PdfWord } from './pdf-syntax.js';

export interface PdfStream {
  dict: PdfDict;
  /** Bytes as they are in the file, still encoded by its filters. */
  data: Buffer;
}

export interface PdfObject {
  value: PdfValue;
  /** Set if it is a stream. */
  stream?: PdfStream;
}

const SPACE = '(?:[\\0\\t\\n\\f\\r ]|%[^\\n\\r]*[\\n\\r])+';
const MAX_OBJECTS = 500_000;

export class PdfFile {
  readonly #bytes: Buffer;
  readonly #text: string;
  readonly #limits: ReadingLimits;
  readonly #places = new Map<number, number[]>();
  readonly #packed = new Map<number, PdfValue[]>();
  readonly #read = new Map<number, readonly PdfObject[]>();
  readonly #unpacked = new Map<Buffer, string>();

  /** @throws UnreadableDocument */
  constructor(bytes: Buffer, limits: ReadingLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.#text = bytes.toString('latin1');
    this.#findObjects();
    this.#unpackObjects();
    if (this.#isEncrypted()) throw new UnreadableDocument('is an encrypted PDF');
  }

  /** The versions of what a value refers to, or the value itself. */
  versions(value: PdfValue | undefined): readonly PdfObject[] {
    if (value === undefined) return [];
    if (!(value instanceof PdfReference)) return [{ value }];
    const known = this.#read.get(value.number);
    if (known) return known;
    // A reference to itself has no value.
    this.#read.set(value.number, []);
    const placed = (this.#places.get(value.number) ?? []).map((place) => this.#objectAt(place));
    const packed = (this.#packed.get(value.number) ?? []).map((one) => ({ value: one }));
    const all = [...placed, ...packed].flatMap((one) =>
      one.value instanceof PdfReference ? this.versions(one.value) : [one],
    );
    this.#read.set(value.number, all);
    return all;
  }

  /** The dictionaries among the versions, those of streams included. */
  dicts(value: PdfValue | undefined): readonly PdfDict[] {
    return this.versions(value).flatMap(({ value: one }) => (isDict(one) ? [one] : []));
  }

  streams(value: PdfValue | undefined): readonly PdfStream[] {
    return this.versions(value).flatMap(({ stream }) => (stream ? [stream] : []));
  }

  /** The list that a value is or refers to: the longest version. */
  list(value: PdfValue | undefined): readonly PdfValue[] {
    const lists = this.versions(value).flatMap(({ value: one }) => (Array.isArray(one) ? [one as PdfValue[]] : []));
    return lists.reduce((longest, one) => (one.length > longest.length ? one : longest), []);
  }

  name(value: PdfValue | undefined): string | undefined {
    const [found] = this.versions(value).flatMap(({ value: one }) => (one instanceof PdfName ? [one.name] : []));
    return found;
  }

  /** The catalogues that the trailers name, and every other one. */
  roots(): readonly PdfDict[] {
    const named = this.#text.matchAll(
      new RegExp(`/Root${SPACE.replace(/\+$/, '*')}(\\d{1,9})${SPACE}\\d{1,5}${SPACE}R`, 'g'),
    );
    const numbers = new Set([...named].map(([, number]) => Number(number)));
    const catalogues = this.#numbers().filter((number) =>
      this.#mayHave(number, 'Catalog') ? this.dicts(new PdfReference(number)).some(isCatalogue) : false,
    );
    for (const number of catalogues) numbers.add(number);
    return [...numbers].flatMap((number) => this.dicts(new PdfReference(number)));
  }

  /** The content of a stream. @throws UnreadableDocument if its filters are not known, or it is damaged. */
  contentOf({ dict, data }: PdfStream): string {
    const known = this.#unpacked.get(data);
    if (known !== undefined) return known;
    const filters = this.#filtersOf(dict);
    const parameters = dict.get('DecodeParms') ?? dict.get('DP');
    const predicts = [parameters, ...this.list(parameters)].some((one) =>
      this.dicts(one).some((fields) => Number(fields.get('Predictor') ?? 1) > 1),
    );
    if (predicts) throw new UnreadableDocument('has text in a form that is not read (a predictor)');
    let content = data;
    if (filters.length === 0) this.#limits.unpacked(data.length);
    for (const filter of filters) content = this.#unfiltered(content, filter);
    const text = content.toString('latin1');
    this.#unpacked.set(data, text);
    return text;
  }

  #filtersOf(dict: PdfDict): readonly string[] {
    const value = dict.get('Filter') ?? dict.get('F');
    const one = this.name(value);
    return one !== undefined ? [one] : this.list(value).map((each) => this.name(each) ?? '');
  }

  #unfiltered(data: Buffer, filter: string): Buffer {
    switch (filter) {
      case 'FlateDecode':
      case 'Fl':
        return inflated(data, this.#limits);
      case 'ASCIIHexDecode':
      case 'AHx':
        return Buffer.from(
          data
            .toString('latin1')
            .split('>', 1)[0]
            ?.replace(/[^\da-f]/gi, '') ?? '',
          'hex',
        );
      case 'ASCII85Decode':
      case 'A85':
        return fromAscii85(data.toString('latin1'), this.#limits);
      default:
        throw new UnreadableDocument(`has text in a form that is not read (${filter.slice(0, 40)})`);
    }
  }

  #findObjects(): void {
    const header = new RegExp(`(?<!\\d)(\\d{1,9})${SPACE}\\d{1,5}${SPACE}obj(?![A-Za-z])`, 'g');
    let count = 0;
    for (const found of this.#text.matchAll(header)) {
      count += 1;
      if (count > MAX_OBJECTS) throw tooLarge();
      add(this.#places, Number(found[1]), found.index + found[0].length);
    }
  }

  #unpackObjects(): void {
    for (const number of this.#numbers()) {
      if (!this.#mayHave(number, '/First')) continue;
      for (const stream of this.streams(new PdfReference(number))) {
        const [count, first] = [stream.dict.get('N'), stream.dict.get('First')].map((one) => this.#number(one));
        if (count === undefined || first === undefined) continue;
        const content = this.contentOf(stream);
        const header = new PdfReader(content, 0, false);
        for (let index = 0; index < Math.min(count, MAX_OBJECTS); index += 1) {
          const [inner, offset] = [header.next(), header.next()];
          if (typeof inner !== 'number' || typeof offset !== 'number') break;
          const value = new PdfReader(content, first + offset).next();
          if (value !== undefined) add(this.#packed, inner, value);
        }
      }
    }
    // What was read before all objects were known may have lacked a length.
    this.#read.clear();
  }

  #isEncrypted(): boolean {
    return /\/Encrypt(?![A-Za-z])/.test(
      this.#text.replace(/#([\da-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))),
    );
  }

  #numbers(): number[] {
    return [...new Set([...this.#places.keys(), ...this.#packed.keys()])];
  }

  /** Whether it is worth reading to find a name in it. */
  #mayHave(number: number, name: string): boolean {
    if (this.#packed.has(number)) return true;
    return (this.#places.get(number) ?? []).some((place) => {
      const beginning = this.#text.slice(place, place + 4_096);
      return beginning.includes(name) || beginning.includes('#');
    });
  }

  #number(value: PdfValue | undefined): number | undefined {
    const [found] = this.versions(value).flatMap(({ value: one }) => (typeof one === 'number' ? [one] : []));
    return found;
  }

  #objectAt(place: number): PdfObject {
    const reader = new PdfReader(this.#text, place);
    const value = reader.next() ?? 0;
    if (!isDict(value)) return { value };
    const after = reader.next();
    if (!(after instanceof PdfWord) || after.word !== 'stream') return { value };
    let from = reader.at;
    if (this.#text[from] === '\r') from += 1;
    if (this.#text[from] === '\n') from += 1;
    const stated = this.#number(value.get('Length'));
    const end = stated === undefined ? -1 : from + stated;
    const isRight = end >= from && /^\s*endstream/.test(this.#text.slice(end, end + 20));
    const found = this.#text.indexOf('endstream', from);
    // Readers take one or the other as the end, and what follows compressed data does no harm.
    const last = isRight ? end : Math.max(end, found === -1 ? this.#text.length : found);
    const data = this.#bytes.subarray(from, last);
    return { value, stream: { dict: value, data } };
  }
}

function isCatalogue(dict: PdfDict): boolean {
  const type = dict.get('Type');
  return type instanceof PdfName && type.name === 'Catalog';
}

function add<Value>(to: Map<number, Value[]>, number: number, value: Value): void {
  const known = to.get(number);
  if (known) known.push(value);
  else to.set(number, [value]);
}

/** Inflates what has a zlib header, or none. A wrong checksum does not matter; what is cut off is not read. */
function inflated(data: Buffer, limits: ReadingLimits): Buffer {
  const hasHeader = data.length > 1 && ((data[0] ?? 0) & 0x0f) === 8 && data.readUInt16BE(0) % 31 === 0;
  try {
    const content = inflateRawSync(hasHeader ? data.subarray(2) : data, { maxOutputLength: limits.left });
    limits.unpacked(content.length);
    return content;
  } catch (error) {
    if (error instanceof UnreadableDocument) throw error;
    if (error instanceof RangeError) throw tooLarge();
    throw new UnreadableDocument('is damaged');
  }
}

function fromAscii85(text: string, limits: ReadingLimits): Buffer {
  const letters = (text.split('~', 1)[0] ?? '')
    .replace(/^\s*<~/, '')
    .replace(/\s/g, '')
    .replaceAll('z', '!!!!!');
  limits.unpacked(letters.length);
  const content = Buffer.alloc(Math.floor((letters.length * 4) / 5));
  let written = 0;
  for (let index = 0; index < letters.length; index += 5) {
    let value = 0;
    for (let digit = 0; digit < 5; digit += 1) {
      const code = index + digit < letters.length ? letters.charCodeAt(index + digit) - 33 : 84;
      value = value * 85 + code;
    }
    for (let byte = 3; byte >= 0 && written < content.length; byte -= 1) {
      content[written] = Math.floor(value / 256 ** byte) & 0xff;
      written += 1;
    }
  }
  return content;
}
