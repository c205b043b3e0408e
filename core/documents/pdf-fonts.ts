/*
 * Converts the codes of a font's strings to letters: by its ToUnicode map, otherwise one letter for each code. Codes
 * have two bytes where the encoding says so and one byte in all other cases, so no text is missed. Of two meanings of
 * a code, the longer one counts.
 */

import type { PdfFile } from './pdf-objects.js';
import { type PdfDict, PdfReader, PdfText, type PdfValue, PdfWord } from './pdf-syntax.js';

export interface PdfFont {
  textOf(bytes: string): string;
}

/** Encodings of composite fonts whose codes all have two bytes (ISO 32000-2, 9.7.5.2). */
const TWO_BYTES = /^Identity-|-UCS2-|-UTF16-/;
const UNICODE = /-UCS2-|-UTF16-/;
/** A letter for a code whose meaning is not known. */
const UNKNOWN_LETTERS = 0x4e00;
const MAX_RANGE = 65_536;

/** A string whose font is not known. */
export const PLAIN_FONT: PdfFont = { textOf: (bytes) => bytes };

export function readFont(file: PdfFile, dict: PdfDict): PdfFont {
  const isComposite = file.name(dict.get('Subtype')) === 'Type0';
  const encoding = file.name(dict.get('Encoding')) ?? '';
  const width = isComposite && TWO_BYTES.test(encoding) ? 2 : 1;
  const letters = new Map<number, string>();
  for (const stream of file.streams(dict.get('ToUnicode'))) readMap(file.contentOf(stream), letters);
  const isPlain = !isComposite || UNICODE.test(encoding);
  const unmapped = (code: number) => String.fromCharCode(isPlain ? code : UNKNOWN_LETTERS + (code % 0x5000));
  return {
    textOf(bytes) {
      if (width === 1 && isPlain && letters.size === 0) return bytes;
      let text = '';
      for (let at = 0; at < bytes.length; at += width) {
        const code = width === 1 ? bytes.charCodeAt(at) : bytes.charCodeAt(at) * 256 + (bytes.charCodeAt(at + 1) || 0);
        text += letters.get(code) ?? unmapped(code);
      }
      return text;
    },
  };
}

/** Reads `bfchar` and `bfrange` of a map (ISO 32000-2, 9.10.3). Of two meanings of a code, the longer one counts. */
function readMap(content: string, letters: Map<number, string>): void {
  const reader = new PdfReader(content, 0, false);
  let operands: PdfValue[] = [];
  const put = (code: number, text: string) => {
    if (text.length >= (letters.get(code)?.length ?? 0)) letters.set(code, text);
  };
  for (let value = reader.next(); value !== undefined; value = reader.next()) {
    if (!(value instanceof PdfWord)) operands.push(value);
    else {
      if (value.word === 'endbfchar') readCharacters(operands, put);
      else if (value.word === 'endbfrange') readRanges(operands, put);
      operands = [];
    }
  }
}

type Put = (code: number, text: string) => void;

function readCharacters(operands: readonly PdfValue[], put: Put): void {
  for (let at = 0; at + 1 < operands.length; at += 2) {
    const [code, text] = [operands[at], operands[at + 1]];
    if (code instanceof PdfText && text instanceof PdfText) put(codeOf(code), unicodeOf(text));
  }
}

function readRanges(operands: readonly PdfValue[], put: Put): void {
  for (let at = 0; at + 2 < operands.length; at += 3) {
    const [first, last, to] = [operands[at], operands[at + 1], operands[at + 2]];
    if (!(first instanceof PdfText) || !(last instanceof PdfText)) continue;
    const from = codeOf(first);
    const count = Math.min(codeOf(last) - from + 1, MAX_RANGE);
    if (to instanceof PdfText) {
      const text = unicodeOf(to);
      const [start, end] = [text.slice(0, -1), text.charCodeAt(text.length - 1) || 0];
      for (let index = 0; index < count; index += 1) put(from + index, start + String.fromCharCode(end + index));
    } else if (Array.isArray(to)) {
      (to as readonly PdfValue[]).slice(0, MAX_RANGE).forEach((one, index) => {
        if (one instanceof PdfText) put(from + index, unicodeOf(one));
      });
    }
  }
}

function codeOf({ bytes }: PdfText): number {
  let code = 0;
  for (let at = Math.max(0, bytes.length - 4); at < bytes.length; at += 1) code = code * 256 + bytes.charCodeAt(at);
  return code;
}

/** UTF-16, the more significant byte first. */
function unicodeOf({ bytes }: PdfText): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 2) {
    text += String.fromCharCode(bytes.charCodeAt(at) * 256 + (bytes.charCodeAt(at + 1) || 0));
  }
  return text;
}
