/** The form of a request, as a vendor's server reads it. */

import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Busboy } from '@fastify/busboy';

export interface SentFile {
  name: string;
  fileName: string;
  contentType: string;
  bytes: Buffer;
}

export interface SentForm {
  /** A name that is there more than once has a list of texts. */
  members: Record<string, string | string[]>;
  files: SentFile[];
}

/** A form as a server of a vendor reads it. @throws Error where it is none, or breaks off. */
export async function readForm(request: IncomingMessage): Promise<SentForm> {
  const members: SentForm['members'] = {};
  const files: Promise<SentFile>[] = [];
  const form = new Busboy({
    headers: { 'content-type': request.headers['content-type'] ?? '' },
    // A part is a file where it has a file name, as the vendor has it: one without is then missing.
    isPartAFile: (_name, _type, fileName) => fileName !== undefined,
  });
  form.on('field', (name, value) => {
    const earlier = members[name];
    members[name] = earlier === undefined ? value : [earlier, value].flat();
  });
  form.on('file', (name, stream, fileName, _encoding, type) => {
    files.push(buffer(stream).then((bytes) => ({ name, fileName, contentType: type, bytes })));
  });
  const parsed = new Promise((resolve, reject) => {
    form.on('finish', resolve).on('error', reject);
    request.on('error', reject).on('close', () => reject(new Error('The form broke off.')));
  });
  request.pipe(form);
  await parsed;
  return { members, files: await Promise.all(files) };
}
