/*
 * Encodes a form as `multipart/form-data` with a known length. Files on disk are read only while the form is sent, so
 * a large upload takes no memory.
 */

import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { BodySource } from '../contracts/index.js';

export interface FilePart {
  name: string;
  fileName: string;
  contentType: string;
  /** In memory, or in a file that does not change until the form has been sent. */
  content: Uint8Array | { path: string; size: number };
}

/** A form as `multipart/form-data` (RFC 7578). */
export interface Form {
  contentType: string;
  body: BodySource;
}

/**
 * Reads files only while the form is sent.
 * @param fields Text fields, sent as UTF-8 before the files; a list becomes several fields.
 */
export function encodeForm(
  fields: Readonly<Record<string, string | readonly string[]>>,
  files: readonly FilePart[],
): Form {
  // 144 random bits: it occurs in no part by accident, and cannot be guessed.
  const boundary = `form-${randomBytes(18).toString('hex')}`;
  const pieces: FilePart['content'][] = [];
  const add = (disposition: string, content: FilePart['content'], contentType?: string) => {
    const type = contentType === undefined ? '' : `Content-Type: ${contentType}\r\n`;
    pieces.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${type}\r\n`));
    pieces.push(content, Buffer.from('\r\n'));
  };
  for (const [name, value] of Object.entries(fields)) {
    for (const text of [value].flat()) add(`name="${quote(name)}"`, Buffer.from(text));
  }
  for (const { name, fileName, contentType, content } of files) {
    add(`name="${quote(name)}"; filename="${quote(fileName)}"`, content, contentType);
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  const size = pieces.reduce((sum, piece) => sum + ('path' in piece ? piece.size : piece.length), 0);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: { size, read: () => readAll(pieces) } };
}

async function* readAll(pieces: readonly FilePart['content'][]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (!('path' in piece)) yield piece;
    else if (piece.size > 0) yield* createReadStream(piece.path, { end: piece.size - 1 });
  }
}

/** Escapes line breaks and quotes of a name as browsers do (HTML Standard, multipart form data). */
function quote(text: string): string {
  return text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}
