/*
 * Reads the syntax of PDF (ISO 32000-2, 7.2 and 7.3), of files and of their content streams, one value after the
 * other. Bytes are letters of a latin1 text, so offsets in the text are offsets in the file. Malformed input is read
 * in some way and never throws, except for values that are nested more than 64 deep. Each byte is read once, apart
 * from a second look at numbers that may begin a reference.
 */

import { UnreadableDocument } from './limits.js';

export class PdfName {
  constructor(readonly name: string) {}
}

export class PdfReference {
  constructor(readonly number: number) {}
}

/** A string: its bytes, as latin1. */
export class PdfText {
  constructor(readonly bytes: string) {}
}

/** An operator of a content stream, or another word: `true`, `null`, `endobj`. */
export class PdfWord {
  constructor(readonly word: string) {}
}

export type PdfDict = ReadonlyMap<string, PdfValue>;
export type PdfValue = number | PdfName | PdfReference | PdfText | PdfWord | PdfDict | readonly PdfValue[];

export function isDict(value: PdfValue | undefined): value is PdfDict {
  return value instanceof Map;
}

const MAX_DEPTH = 64;

/** Class of a byte: 0 of a word, 1 white space, 2 a delimiter. */
const KINDS = new Uint8Array(256);
for (const code of [0, 9, 10, 12, 13, 32]) KINDS[code] = 1;
for (const letter of '()<>[]{}/%') KINDS[letter.charCodeAt(0)] = 2;

const NUMBER = /^[+-]*\d*\.?\d*(?:-\d*)?$/;
const END = { word: 'end of the text' } as const;
type Closing = ']' | '>>' | typeof END;

export class PdfReader {
  constructor(
    readonly text: string,
    /** Offset of the next byte. */
    public at = 0,
    /** Whether `1 0 R` is a reference, as it is outside content streams. */
    readonly hasReferences = true,
  ) {}

  /** The next value; undefined at the end. Brackets that close nothing are skipped. */
  next(): PdfValue | undefined {
    for (;;) {
      const value = this.#read(0);
      if (value === END) return undefined;
      if (value !== ']' && value !== '>>') return value;
    }
  }

  #read(depth: number): PdfValue | Closing {
    if (depth > MAX_DEPTH) throw new UnreadableDocument('is nested too deeply');
    this.#skipSpace();
    const { text } = this;
    if (this.at >= text.length) return END;
    const letter = text[this.at];
    this.at += 1;
    switch (letter) {
      case '/':
        return new PdfName(this.#word().replace(/#([\da-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))));
      case '(':
        return new PdfText(this.#literal());
      case '[':
        return this.#list(depth);
      case ']':
        return ']';
      case '<':
        if (text[this.at] !== '<') return new PdfText(this.#hex());
        this.at += 1;
        return this.#dict(depth);
      case '>':
        if (text[this.at] === '>') this.at += 1;
        return '>>';
      case ')':
      case '{':
      case '}':
        return new PdfWord(letter);
      default:
        this.at -= 1;
        return this.#plain();
    }
  }

  #skipSpace(): void {
    const { text } = this;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      if (KINDS[code] === 1) this.at += 1;
      else if (code === 0x25) {
        while (this.at < text.length && text[this.at] !== '\n' && text[this.at] !== '\r') this.at += 1;
      } else return;
    }
  }

  #word(): string {
    const from = this.at;
    while (this.at < this.text.length && KINDS[this.text.charCodeAt(this.at)] === 0) this.at += 1;
    return this.text.slice(from, this.at);
  }

  #plain(): PdfValue {
    const word = this.#word();
    if (!NUMBER.test(word)) return new PdfWord(word);
    const number = Number.parseFloat(word.replace(/^[+-]+(?=[\d.])/, (signs) => (signs.includes('-') ? '-' : ''))) || 0;
    return this.hasReferences && Number.isInteger(number) && number >= 0 ? this.#reference(number) : number;
  }

  #reference(number: number): PdfValue {
    const from = this.at;
    this.#skipSpace();
    if (/^\d{1,5}$/.test(this.#word())) {
      this.#skipSpace();
      if (this.#word() === 'R') return new PdfReference(number);
    }
    this.at = from;
    return number;
  }

  #list(depth: number): PdfValue {
    const list: PdfValue[] = [];
    for (;;) {
      const value = this.#read(depth + 1);
      if (value === END || value === ']') return list;
      // A list that is not closed ends with what it is in.
      if (value === '>>') return list;
      list.push(value);
    }
  }

  #dict(depth: number): PdfValue {
    const dict = new Map<string, PdfValue>();
    for (;;) {
      const name = this.#read(depth + 1);
      if (name === END || name === '>>') return dict;
      if (!(name instanceof PdfName)) continue;
      const value = this.#read(depth + 1);
      if (value === END || value === '>>') return dict;
      if (value !== ']') dict.set(name.name, value);
    }
  }

  #literal(): string {
    const parts: string[] = [];
    const { text } = this;
    let from = this.at;
    for (let open = 1; this.at < text.length; this.at += 1) {
      const letter = text[this.at];
      if (letter === '(') open += 1;
      else if (letter === ')') {
        open -= 1;
        if (open === 0) break;
      } else if (letter === '\\') {
        parts.push(text.slice(from, this.at));
        const escaped = /^(?:[0-7]{1,3}|\r\n|[\s\S])/.exec(text.slice(this.at + 1, this.at + 4))?.[0] ?? '';
        parts.push(plainOf(escaped));
        this.at += escaped.length;
        from = this.at + 1;
      }
    }
    parts.push(text.slice(from, this.at));
    this.at += 1;
    return parts.join('');
  }

  #hex(): string {
    const end = this.text.indexOf('>', this.at);
    const digits = this.text.slice(this.at, end === -1 ? undefined : end).replace(/[^\da-f]/gi, '');
    this.at = end === -1 ? this.text.length : end + 1;
    return Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex').toString('latin1');
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  '\n': '',
  '\r': '',
  '\r\n': '',
};

function plainOf(escaped: string): string {
  if (/^[0-7]/.test(escaped)) return String.fromCharCode(Number.parseInt(escaped, 8) & 0xff);
  return ESCAPES[escaped] ?? escaped;
}
