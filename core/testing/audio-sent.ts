import type { AudioInputFile } from '../contracts/index.js';
import type { SentToUpstream } from './audio-definition.js';
import type { AudioRun } from './audio-run.js';
import type { SentRequest } from './fake-http.js';
import { compare } from './matchers.js';

interface SentContent {
  fields: Record<string, unknown>;
  files: { field: string; file: File; bytes: Buffer }[];
}

/** Problems of a request, one line each; every field must be expected. */
export async function sentProblems(
  request: SentRequest | undefined,
  wanted: SentToUpstream,
  { audio, audioBytes }: Pick<AudioRun, 'audio' | 'audioBytes'>,
): Promise<string[]> {
  if (!request) return ['nothing was sent'];
  const content = await readContent(request);
  if (typeof content === 'string') return [content];
  const { fields, files } = content;
  const [first, ...others] = files;
  const isForm = wanted.file !== undefined;
  return [
    ...compare(wanted.url, String(request.url), 'url'),
    ...compare(wanted.fields, fields, 'members'),
    ...Object.keys(fields)
      .filter((name) => !Object.hasOwn(wanted.fields, name))
      .map((name) => `members.${name} is sent, and not expected`),
    ...(isForm && !first ? ['the sound is not sent as a file of a form'] : []),
    ...(others.length > 0 || (!isForm && first) ? [`${files.length} files are sent`] : []),
    ...(first && isForm ? fileProblems(first, wanted.file, audio, audioBytes) : []),
  ];
}

function fileProblems(
  { field, file, bytes }: SentContent['files'][number],
  wanted: string | undefined,
  audio: AudioInputFile,
  audioBytes: Uint8Array,
): string[] {
  return [
    ...compare(wanted, field, 'field of the file'),
    // Vendors detect formats by the extension.
    ...compare(audio.filename, file.name, 'name of the file'),
    ...compare(audio.contentType, file.type, 'type of the file'),
    ...(bytes.equals(audioBytes) ? [] : [`the file is sent with ${bytes.length} other bytes`]),
  ];
}

/** Fields of the JSON, or fields and files of the form; a text if it is neither. */
async function readContent({ headers = {}, body = '' }: SentRequest): Promise<SentContent | string> {
  const contentType = headers['content-type'] ?? '';
  const bytes = Buffer.from(body as Uint8Array);
  try {
    if (!contentType.startsWith('multipart/form-data')) {
      if (contentType !== 'application/json') return `the content type is ${contentType || 'not told'}`;
      return { fields: JSON.parse(bytes.toString('utf8')), files: [] };
    }
    const form = await new Response(Uint8Array.from(bytes), { headers: { 'content-type': contentType } }).formData();
    const fields: SentContent['fields'] = {};
    const files: SentContent['files'] = [];
    for (const [name, value] of form) {
      if (typeof value === 'string') fields[name] = name in fields ? [fields[name], value].flat() : value;
      else files.push({ field: name, file: value, bytes: Buffer.from(await value.arrayBuffer()) });
    }
    return { fields, files };
  } catch {
    return `the body is not what its type says (${contentType})`;
  }
}
