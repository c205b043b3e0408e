/*
 * Reads what a file in a request contains, as far as a model reads it: pages, text, an image or audio. Its kind
 * follows from its bytes. If the request calls it text, its bytes count as text when that is longer, because a vendor
 * may go by the label. A file that may contain more than can be seen is not read: it is encrypted, damaged, a bomb, or
 * of an unknown kind.
 */

import { isUtf8 } from 'node:buffer';
import { audioSeconds } from './audio.js';
import { ReadingLimits, UnreadableDocument } from './limits.js';
import { readOffice } from './office.js';
import { readPdf } from './pdf-text.js';

export interface FileContent {
  /** Text that a model reads. */
  text: string;
  /** Pages of a PDF, each of which models also get as an image. */
  pages: number;
  /** Whether it is an image. */
  isImage: boolean;
  /** Length of audio. */
  seconds: number;
}

/** The kinds of files that are read, for messages. */
export const READ_KINDS =
  'PDF (not encrypted), docx, xlsx, pptx, text such as csv or html, png, jpeg, gif, webp, wav and mp3';

const NOTHING: FileContent = { text: '', pages: 0, isImage: false, seconds: 0 };
/** Readers look for the mark of a PDF in so many bytes. */
const PDF_MARK_BYTES = 1_024;
/** Bytes below the space that texts have: line ends, tabs, pages and the beginning of colours. */
const TEXT_CONTROLS: ReadonlySet<number> = new Set([9, 10, 11, 12, 13, 27]);

/** Extensions of names of files that are not text, and what they are. */
const EXTENSIONS: ReadonlyMap<string, Claim> = new Map([
  ['pdf', 'pdf'],
  ...['docx', 'xlsx', 'pptx', 'png', 'jpg', 'jpeg', 'gif', 'webp', 'wav', 'mp3'].map((one) => [one, 'other'] as const),
]);

type Claim = 'pdf' | 'text' | 'other';

/** What a request says of a file. */
export interface FileClaim {
  /** Type of the content. Default: it states none. */
  type?: string | undefined;
  /** Name of the file. Default: it has none. */
  filename?: string | undefined;
}

/** @throws UnreadableDocument */
export function readFile(bytes: Buffer, limits: ReadingLimits, claim: FileClaim = {}): FileContent {
  const claimed = claimOf(claim);
  const read = readKind(bytes, limits, claimed === 'pdf');
  if (claimed !== 'text') return read;
  // A vendor may go by what is said, and read the bytes as they are.
  const text = plainText(bytes) ?? bytes.toString('latin1');
  return text.length > read.text.length ? { ...read, text } : read;
}

/** The type comes first. A file of another type, or with another extension, is taken for text. */
function claimOf({ type = '', filename = '' }: FileClaim): Claim | undefined {
  if (type !== '' && type !== 'application/octet-stream') {
    if (type === 'application/pdf') return 'pdf';
    return /^(?:image|audio)\/|openxmlformats/.test(type) ? 'other' : 'text';
  }
  const extension = /\.([^./\\]+)$/.exec(filename)?.[1]?.toLowerCase();
  return extension === undefined ? undefined : (EXTENSIONS.get(extension) ?? 'text');
}

function readKind(bytes: Buffer, limits: ReadingLimits, isPdf: boolean): FileContent {
  if (isPdf || bytes.toString('latin1', 0, PDF_MARK_BYTES).includes('%PDF-')) {
    return { ...NOTHING, ...readPdf(bytes, limits) };
  }
  if (isMarked(bytes, 'PK\x03\x04')) return { ...NOTHING, text: readOffice(bytes, limits) };
  if (isImage(bytes)) return { ...NOTHING, isImage: true };
  const text = plainText(bytes);
  if (text !== undefined) return { ...NOTHING, text };
  const seconds = audioSeconds(bytes);
  if (seconds !== undefined) return { ...NOTHING, seconds };
  throw new UnreadableDocument('is of a kind that is not read');
}

function isMarked(bytes: Buffer, mark: string, at = 0): boolean {
  return bytes.toString('latin1', at, at + mark.length) === mark;
}

function isImage(bytes: Buffer): boolean {
  return (
    isMarked(bytes, '\x89PNG\r\n\x1a\n') ||
    isMarked(bytes, '\xff\xd8\xff') ||
    isMarked(bytes, 'GIF8') ||
    (isMarked(bytes, 'RIFF') && isMarked(bytes, 'WEBP', 8))
  );
}

/** In UTF-8, in UTF-16 with its mark, or in an encoding with one byte for each letter. */
function plainText(bytes: Buffer): string | undefined {
  if (isMarked(bytes, '\xff\xfe')) return bytes.toString('utf16le', 2);
  if (isMarked(bytes, '\xfe\xff'))
    return Buffer.from(bytes.subarray(2, bytes.length - (bytes.length % 2)))
      .swap16()
      .toString('utf16le');
  if (bytes.some((byte) => byte < 0x20 && !TEXT_CONTROLS.has(byte))) return undefined;
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}
