import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Busboy } from '@fastify/busboy';

export interface SentFile {
  name: string;
  fileName: string;
  contentType: string;
  bytes: Buffer;
}

/** One request as the upstream saw it. */
export interface ImageUpstreamRequest {
  path: string;
  /** `Idempotency-Key`; undefined where none was sent. */
  key?: string;
  authorization?: string;
  contentType: string;
  prompt: string;
  /** JSON members, or text fields of the form. */
  members: Readonly<Record<string, unknown>>;
  files: readonly SentFile[];
  /** How many requests with this key there have been, this one included; without a key, how many in all. */
  count: number;
}

/** @throws Error where the body is neither JSON nor a form. */
export async function readImageRequest(request: IncomingMessage, count: number): Promise<ImageUpstreamRequest> {
  const contentType = request.headers['content-type'] ?? '';
  const { members, files } = contentType.startsWith('multipart/form-data')
    ? await readForm(request, contentType)
    : { members: JSON.parse((await buffer(request)).toString()) as Record<string, unknown>, files: [] };
  const key = request.headers['idempotency-key'];
  return {
    path: request.url ?? '',
    ...(typeof key === 'string' && { key }),
    ...(request.headers.authorization !== undefined && { authorization: request.headers.authorization }),
    contentType,
    prompt: String(members.prompt ?? ''),
    members,
    files,
    count,
  };
}

async function readForm(
  request: IncomingMessage,
  contentType: string,
): Promise<{ members: Record<string, unknown>; files: SentFile[] }> {
  const members: Record<string, unknown> = {};
  const files: Promise<SentFile>[] = [];
  const form = new Busboy({
    headers: { 'content-type': contentType },
    // A part is a file where it has a file name, as the vendor has it: one without is then missing.
    isPartAFile: (_name, _type, fileName) => fileName !== undefined,
  });
  form.on('field', (name, value) => {
    members[name] = value;
  });
  form.on('file', (name, stream, fileName, _encoding, type) => {
    files.push(buffer(stream).then((bytes) => ({ name, fileName, contentType: type, bytes })));
  });
  const parsed = new Promise((resolve, reject) => form.on('finish', resolve).on('error', reject));
  request.pipe(form);
  await parsed;
  return { members, files: await Promise.all(files) };
}
