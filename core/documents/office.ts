/*
 * Reads the text of docx, xlsx and pptx files, which are zip archives of XML parts (ISO/IEC 29500). All parts count,
 * so notes and comments are included. A cell of a sheet that only has the number of a text counts as that text, as
 * often as it occurs. Encrypted or damaged archives, parts with entities of their own, and sheets or slides that are
 * listed several times are refused, because other readers could find more text in them. What the parts unpack to is
 * limited over all documents of a request.
 */

import { inflateRawSync } from 'node:zlib';
import { type ReadingLimits, TextJoiner, tooLarge, UnreadableDocument } from './limits.js';

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const MAX_COMMENT = 65_535;
const ZIP64 = 0xffffffff;
const PARTS = /^(?:word|xl|ppt)\/.*\.xml$/i;
/** The main part of each kind, what it lists, and the parts that the list names: each of them once. */
const MAIN_PARTS = [
  { name: 'word/document.xml' },
  {
    name: 'xl/workbook.xml',
    lists: /<(?:\w+:)?sheet\s/g,
    parts: /^xl\/(?:work|chart|dialog|macro)sheets\/[^/]*\.xml$/i,
  },
  { name: 'ppt/presentation.xml', lists: /<(?:\w+:)?sldId\s/g, parts: /^ppt\/slides\/[^/]*\.xml$/i },
] as const;
const SHARED_STRINGS = 'xl/sharedStrings.xml';
const SHEET = /^xl\/worksheets\/[^/]*\.xml$/i;

interface ZipEntry {
  name: string;
  content(): Buffer;
}

/** @throws UnreadableDocument */
export function readOffice(bytes: Buffer, limits: ReadingLimits): string {
  const entries = readDirectory(bytes, limits);
  const main = MAIN_PARTS.find(({ name }) => entries.some((entry) => entry.name === name));
  if (!main) throw new UnreadableDocument('is an archive that is no docx, xlsx or pptx file');
  const parts = entries
    .filter(({ name }) => PARTS.test(name))
    .map(({ name, content }) => ({ name, xml: xmlOf(content()) }));
  if ('lists' in main) {
    const listed = parts.filter(({ name }) => name === main.name).flatMap(({ xml }) => xml.match(main.lists) ?? []);
    if (listed.length > parts.filter(({ name }) => main.parts.test(name)).length) {
      throw new UnreadableDocument('has a sheet or slide several times');
    }
  }
  const shared = parts.filter(({ name }) => name === SHARED_STRINGS).flatMap(({ xml }) => sharedTexts(xml));
  const joiner = new TextJoiner();
  for (const { name, xml } of parts) {
    if (SHEET.test(name)) addCells(xml, shared, joiner);
    else if (name !== SHARED_STRINGS) joiner.add(textOf(xml));
    joiner.add('\n');
  }
  return joiner.join();
}

function readDirectory(bytes: Buffer, limits: ReadingLimits): ZipEntry[] {
  let end = bytes.length - 22;
  const first = Math.max(0, end - MAX_COMMENT);
  while (end >= first && bytes.readUInt32LE(end) !== END_OF_DIRECTORY) end -= 1;
  if (end < first) throw damaged();
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  if (at === ZIP64) throw damaged();
  const entries: ZipEntry[] = [];
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== DIRECTORY_ENTRY) throw damaged();
    const [method, size, local] = [
      bytes.readUInt16LE(at + 10),
      bytes.readUInt32LE(at + 20),
      bytes.readUInt32LE(at + 42),
    ];
    const isEncrypted = (bytes.readUInt16LE(at + 8) & 1) === 1;
    const nameEnd = at + 46 + bytes.readUInt16LE(at + 28);
    const name = bytes.toString('utf8', at + 46, nameEnd);
    entries.push({ name, content: () => contentOf(bytes, { method, size, local, isEncrypted }, limits) });
    at = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

interface PackedPart {
  method: number;
  size: number;
  /** Offset of its local header. */
  local: number;
  isEncrypted: boolean;
}

function contentOf(bytes: Buffer, { method, size, local, isEncrypted }: PackedPart, limits: ReadingLimits): Buffer {
  if (isEncrypted) throw new UnreadableDocument('is an encrypted archive');
  if (local + 30 > bytes.length) throw damaged();
  const from = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  const packed = bytes.subarray(from, from + size);
  if (method === 0) {
    limits.unpacked(packed.length);
    return packed;
  }
  if (method !== 8) throw new UnreadableDocument('is an archive with a compression that is not read');
  try {
    const content = inflateRawSync(packed, { maxOutputLength: limits.left });
    limits.unpacked(content.length);
    return content;
  } catch (error) {
    if (error instanceof UnreadableDocument) throw error;
    throw error instanceof RangeError ? tooLarge() : damaged();
  }
}

function damaged(): UnreadableDocument {
  return new UnreadableDocument('is a damaged archive');
}

function xmlOf(content: Buffer): string {
  const isWide = content[0] === 0xff || content[0] === 0xfe || content[0] === 0 || content[1] === 0;
  if (isWide) throw new UnreadableDocument('has parts that are not in UTF-8');
  const xml = content.toString('utf8');
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) throw new UnreadableDocument('has parts with entities of their own');
  return xml;
}

function textOf(xml: string): string {
  return xml
    .replace(/<\/(?:\w+:)?(?:p|si|row|comment)>|<(?:\w+:)?(?:tab|br|cr)\b[^>]*>/g, '\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:#?\w+);/g, '.');
}

/** The texts that cells name by their numbers. */
function sharedTexts(xml: string): string[] {
  return [...xml.matchAll(/<(?:\w+:)?si\b[^>]*?(?:\/>|>([\s\S]*?)<\/(?:\w+:)?si>)/g)].map(([, inner = '']) =>
    textOf(inner),
  );
}

function addCells(xml: string, shared: readonly string[], joiner: TextJoiner): void {
  for (const [, attributes = '', inner = ''] of xml.matchAll(
    /<(?:\w+:)?c\b((?:[^>"']|"[^"]*"|'[^']*')*?)(?:\/>|>([\s\S]*?)<\/(?:\w+:)?c>)/g,
  )) {
    const text = textOf(inner);
    const isShared = /\bt\s*=\s*["']s["']/.test(attributes);
    joiner.add(isShared ? (shared[Number.parseInt(text, 10)] ?? text) : text);
    joiner.add('\t');
  }
}
