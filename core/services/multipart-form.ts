import { randomBytes } from 'node:crypto';

export interface FilePart {
  name: string;
  fileName: string;
  contentType: string;
  bytes: Uint8Array;
}

/** A form as `multipart/form-data` (RFC 7578). */
export interface Form {
  contentType: string;
  body: Uint8Array;
}

/** @param fields text fields, sent as UTF-8 before the files. */
export function encodeForm(fields: Readonly<Record<string, string>>, files: readonly FilePart[]): Form {
  // 144 random bits: it stands in no part by chance, and nobody can put it there.
  const boundary = `form-${randomBytes(18).toString('hex')}`;
  const pieces: Uint8Array[] = [];
  const add = (disposition: string, content: Uint8Array, contentType?: string) => {
    const type = contentType === undefined ? '' : `Content-Type: ${contentType}\r\n`;
    pieces.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${type}\r\n`));
    pieces.push(content, Buffer.from('\r\n'));
  };
  for (const [name, value] of Object.entries(fields)) add(`name="${quote(name)}"`, Buffer.from(value));
  for (const { name, fileName, contentType, bytes } of files) {
    add(`name="${quote(name)}"; filename="${quote(fileName)}"`, bytes, contentType);
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(pieces) };
}

/** As browsers do it (HTML Standard, multipart form data). */
function quote(text: string): string {
  return text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}
