/*
 * Converts parts of a chat's messages to Anthropic's: texts, images, files, and parts that are in its format already. Names
 * of image types that the vendor refuses become those that it takes. The readers of values that the conversion shares are
 * here too; each error names the field.
 */

import { asRecord, GatewayError, type JsonRecord } from 'mediagate/plugin';

const IMAGE_DATA = /^data:(image\/(?:p?jpe?g|x-png|png|gif|webp))(?:;[^,;]*)*;base64,/i;
const PDF_DATA = /^data:application\/pdf;base64,/i;
const TEXT_DATA = /^data:text\/plain(?:;charset=utf-8)?;base64,/i;

/** Names that clients use for image types, and that the vendor refuses. */
const IMAGE_ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/pjpg': 'image/jpeg',
  'image/x-png': 'image/png',
};
/** Parts of a message that are in the vendor's format already: some clients send them in chats. */
const OWN_PARTS: ReadonlySet<unknown> = new Set(['tool_use', 'tool_result', 'image', 'document', 'thinking']);

export function partsOf(content: unknown, path: string): JsonRecord[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return listAt(content, path).flatMap((part, index) => {
    const at = `${path}[${index}]`;
    const { cache_control: cache, ...record } = recordAt(part, at);
    return encodePart(record, at).map((one) => (isSent(cache) ? { ...one, cache_control: cache } : one));
  });
}

/** Only texts. */
export function textsOf(content: unknown, path: string): JsonRecord[] {
  const parts = partsOf(content, path);
  for (const { type } of parts) if (type !== 'text') refuseValue(path, 'only a user can send images and files');
  return parts;
}

function encodePart(part: JsonRecord, path: string): JsonRecord[] {
  const { type } = part;
  if (type === 'text' || type === 'refusal') {
    const text = textAt(part[type], `${path}.${type}`);
    return text === '' ? [] : [{ type: 'text', text }];
  }
  if (OWN_PARTS.has(type)) return [part];
  if (type === 'image_url') return [imageOf(part.image_url, `${path}.image_url`)];
  if (type === 'file') return [fileOf(recordAt(part.file, `${path}.file`), `${path}.file`)];
  return refuseValue(`${path}.type`, 'this model takes parts of the type text, image_url and file');
}

function imageOf(value: unknown, path: string): JsonRecord {
  const url = textAt(asRecord(value)?.url ?? value, `${path}.url`);
  if (/^https?:\/\//i.test(url)) return { type: 'image', source: { type: 'url', url } };
  const mediaType = IMAGE_DATA.exec(url)?.[1]?.toLowerCase();
  if (mediaType === undefined) {
    refuse(`${path}.url`, 'an http or https address, or a data URI of a JPEG, PNG, GIF or WebP image in base64');
  }
  const media_type = IMAGE_ALIASES[mediaType] ?? mediaType;
  return { type: 'image', source: { type: 'base64', media_type, data: dataOf(url) } };
}

function fileOf({ file_data: data, filename: title, file_id: id }: JsonRecord, path: string): JsonRecord {
  if (isSent(id)) refuseValue(`${path}.file_id`, 'files are not kept for this model; send file_data');
  const uri = textAt(data, `${path}.file_data`);
  const named = typeof title === 'string' && title !== '' && { title };
  if (PDF_DATA.test(uri)) {
    return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: dataOf(uri) }, ...named };
  }
  if (!TEXT_DATA.test(uri)) refuse(`${path}.file_data`, 'a data URI of a PDF or a plain text in base64');
  const text = Buffer.from(dataOf(uri), 'base64').toString('utf8');
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...named };
}

function dataOf(uri: string): string {
  return uri.slice(uri.indexOf(',') + 1);
}

export function isSent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

export function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

export function recordAt(value: unknown, path: string): JsonRecord {
  return asRecord(value) ?? refuse(path, 'an object');
}

export function listAt(value: unknown, path: string): readonly unknown[] {
  if (isSent(value)) return Array.isArray(value) ? value : refuse(path, 'a list');
  throw new GatewayError('missing_required_parameter', `${path} is missing.`, { param: path });
}

export function textAt(value: unknown, path: string): string {
  return typeof value === 'string' ? value : refuse(path, 'a text');
}

export function refuse(param: string, accepted: string): never {
  throw new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

export function refuseValue(param: string, why: string): never {
  throw new GatewayError('unsupported_value', `${param}: ${why}.`, { param });
}

export function refuseParameter(param: string): never {
  const message = `${param} is not supported by this model, whose upstream has Anthropic's format.`;
  throw new GatewayError('unsupported_parameter', message, { param });
}

/** Image types in a request of the vendor's own format that it refuses, in unescaped JSON. */
const WRONG_TYPE = /("media_type"\s*:\s*")(image\/(?:jpg|pjpeg|pjpg|x-png))"/gi;

/** A request of the vendor's own format as it is, but for names of image types that the vendor refuses. */
export function withImageTypes(body: Uint8Array): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!bytes.includes('media_type')) return body;
  const text = bytes.toString('latin1');
  const right = text.replace(
    WRONG_TYPE,
    (_match, before: string, type: string) => `${before}${IMAGE_ALIASES[type.toLowerCase()]}"`,
  );
  return right === text ? body : Buffer.from(right, 'latin1');
}
