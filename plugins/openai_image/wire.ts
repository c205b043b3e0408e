import { type BodySource, encodeForm, type FilePart, type ImageCall, type Media } from 'mediagate';
import type { Upstream } from './upstream.js';

/** A request in the upstream's format, without its credentials. */
export interface WireRequest {
  path: '/images/generations' | '/images/edits';
  contentType: string;
  body: string | BodySource;
}

const PASSED = ['quality', 'background', 'output_format', 'output_compression', 'moderation', 'user'] as const;
const PASSED_WITH_REFERENCES = [...PASSED, 'input_fidelity'] as const;

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
};

/** @param size as the upstream is to be asked for it; absent, it is not asked. */
export function encodeRequest(call: ImageCall, upstream: Upstream, size: string | undefined): WireRequest {
  const withReferences = call.references.length > 0;
  const settings = settingsOf(call, upstream, size);
  if (!withReferences) return json('/images/generations', settings);
  if (upstream.jsonEdits) {
    return json('/images/edits', { ...settings, images: call.references.map((one) => ({ image_url: dataUri(one) })) });
  }
  const fields = Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
  return { path: '/images/edits', ...encodeForm(fields, call.references.map(filePart)) };
}

function settingsOf(call: ImageCall, upstream: Upstream, size: string | undefined): Record<string, string | number> {
  const names: readonly string[] = call.references.length > 0 ? PASSED_WITH_REFERENCES : PASSED;
  const passed = names.flatMap((name) => {
    const value = call.options[name];
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : [];
  });
  return {
    model: upstream.model,
    prompt: call.prompt,
    n: 1,
    ...(size !== undefined && { size }),
    ...Object.fromEntries(passed),
    ...(upstream.sendsResponseFormat && { response_format: 'b64_json' }),
  };
}

function json(path: WireRequest['path'], body: object): WireRequest {
  return { path, contentType: 'application/json', body: JSON.stringify(body) };
}

function filePart({ bytes, contentType }: Media, index: number): FilePart {
  const fileName = `image-${index + 1}.${EXTENSIONS[contentType] ?? 'bin'}`;
  return { name: 'image[]', fileName, contentType, content: bytes };
}

function dataUri({ bytes, contentType }: Media): string {
  return `data:${contentType};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')}`;
}
