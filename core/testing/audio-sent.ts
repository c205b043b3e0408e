import type { SoundFile } from '../contracts/index.js';
import type { SentToUpstream } from './audio-definition.js';
import type { AudioRun } from './audio-run.js';
import type { SentRequest } from './fake-http.js';
import { compare } from './matchers.js';

interface SentContent {
  members: Record<string, unknown>;
  files: { field: string; file: File; bytes: Buffer }[];
}

/** What is wrong with a request, one line each; every member has to be expected. */
export async function sentProblems(
  request: SentRequest | undefined,
  wanted: SentToUpstream,
  { sound, soundBytes }: Pick<AudioRun, 'sound' | 'soundBytes'>,
): Promise<string[]> {
  if (!request) return ['nothing was sent'];
  const content = await readContent(request);
  if (typeof content === 'string') return [content];
  const { members, files } = content;
  const [first, ...others] = files;
  const isForm = wanted.file !== undefined;
  return [
    ...compare(wanted.url, String(request.url), 'url'),
    ...compare(wanted.members, members, 'members'),
    ...Object.keys(members)
      .filter((name) => !Object.hasOwn(wanted.members, name))
      .map((name) => `members.${name} is sent, and not expected`),
    ...(isForm && !first ? ['the sound is not sent as a file of a form'] : []),
    ...(others.length > 0 || (!isForm && first) ? [`${files.length} files are sent`] : []),
    ...(first && isForm ? fileProblems(first, wanted.file, sound, soundBytes) : []),
  ];
}

function fileProblems(
  { field, file, bytes }: SentContent['files'][number],
  wanted: string | undefined,
  sound: SoundFile,
  soundBytes: Uint8Array,
): string[] {
  return [
    ...compare(wanted, field, 'field of the file'),
    // Vendors know formats by the extension.
    ...compare(sound.filename, file.name, 'name of the file'),
    ...compare(sound.contentType, file.type, 'type of the file'),
    ...(bytes.equals(soundBytes) ? [] : [`the file is sent with ${bytes.length} other bytes`]),
  ];
}

/** Members of the JSON, or fields and files of the form; in words where it is neither. */
async function readContent({ headers = {}, body = '' }: SentRequest): Promise<SentContent | string> {
  const contentType = headers['content-type'] ?? '';
  const bytes = Buffer.from(body as Uint8Array);
  try {
    if (!contentType.startsWith('multipart/form-data')) {
      if (contentType !== 'application/json') return `the content type is ${contentType || 'not told'}`;
      return { members: JSON.parse(bytes.toString('utf8')), files: [] };
    }
    const form = await new Response(Uint8Array.from(bytes), { headers: { 'content-type': contentType } }).formData();
    const members: SentContent['members'] = {};
    const files: SentContent['files'] = [];
    for (const [name, value] of form) {
      if (typeof value === 'string') members[name] = name in members ? [members[name], value].flat() : value;
      else files.push({ field: name, file: value, bytes: Buffer.from(await value.arrayBuffer()) });
    }
    return { members, files };
  } catch {
    return `the body is not what its type says (${contentType})`;
  }
}
