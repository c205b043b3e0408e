import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import { type Audio, GatewayError, type UploadedSound } from 'mediagate';
import { brokenOff, countRefusals, refuseCoding, tooLarge } from './body.js';
import type { BodyBudget, BodyPlace } from './body-budget.js';
import { fingerprintOf } from './json-body.js';
import type { RequestContext } from './koa-app.js';

const MAX_PARTS = 20;
const MAX_FIELD_BYTES = 64 * 1024;
const MAX_PART_HEADER_BYTES = 8 * 1024;
const MAX_PART_HEADERS = 16;
/** For fields and everything between the parts. */
const FRAME_BYTES = MAX_PARTS * (MAX_FIELD_BYTES + MAX_PART_HEADER_BYTES);

export interface FormOptions {
  audio: Audio;
  /** Names that the sound may have in the form. */
  soundNames: readonly string[];
  /** Bytes of the sound. */
  maxBytes: number;
  /** Shared by all forms. */
  budget: BodyBudget;
  /** Who sends it: the account of the key, or the key where it has none. */
  owner: string;
  /** Aborts when the client has gone. */
  signal: AbortSignal;
  /** Whether its fingerprint is wanted, for which everything in it is hashed. */
  fingerprinted: boolean;
}

export interface SoundForm {
  /** Every value of each field, in the order of sending. */
  fields: ReadonlyMap<string, readonly string[]>;
  /** Undefined where none was sent. */
  sound?: UploadedSound;
  /**
   * SHA-256 in hex of fields and files, empty where it is not wanted. What the boundary is and how files are called makes no
   * difference, nor the order, but among those of one name.
   */
  fingerprint: string;
}

/**
 * Reads a form with a sound, which goes to a file while it arrives and is there until `use` has ended. To be called after
 * the key was checked.
 * @throws GatewayError `unsupported_media_type`, `request_too_large`, `queue_full`, `request_timeout`, `bad_request`,
 * `invalid_value`, and what `use` throws.
 */
export async function useSoundForm<Result>(
  request: IncomingMessage,
  response: ServerResponse,
  options: FormOptions,
  use: (form: SoundForm) => Promise<Result>,
): Promise<Result> {
  checkType(request);
  const { budget, owner } = options;
  const maxBytes = options.maxBytes + FRAME_BYTES;
  const announced = request.headers['content-length'];
  const onBytes = countRefusals(response, budget, owner);
  if (announced !== undefined) onBytes(Number(announced));
  if (Number(announced ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const slow = Promise.withResolvers<never>();
  slow.promise.catch(() => undefined);
  const place = budget.open(owner, slow.reject);
  try {
    if (request.headers.expect !== undefined) response.writeContinue();
    const limits = { ...options, formBytes: maxBytes, place, onBytes };
    const form = await readForm(request, limits, slow.promise);
    try {
      return await use(form);
    } finally {
      await form.sound?.remove();
    }
  } finally {
    place.release();
  }
}

function checkType({ headers }: IncomingMessage): void {
  refuseCoding(headers);
  if (!/^multipart\/form-data\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    throw new GatewayError('unsupported_media_type', 'Send the body as Content-Type: multipart/form-data.');
  }
}

interface ReadLimits extends FormOptions {
  /** Bytes of everything together. */
  formBytes: number;
  place: BodyPlace;
  /** Called with the bytes so far. What it throws ends the reading. */
  onBytes(bytes: number): void;
}

type Fail = (error: unknown) => void;

/** @param slow Rejects where the form arrives too slowly. */
async function readForm(request: IncomingMessage, limits: ReadLimits, slow: Promise<never>): Promise<SoundForm> {
  const parser = await openParser(request, limits.soundNames);
  const { promise: whole, resolve, reject: fail } = Promise.withResolvers<void>();
  const fields = collectFields(parser, fail);
  const files = limits.fingerprinted ? new Map<string, string[]>() : undefined;
  const sound = collectSound(parser, limits, fail, files);
  const unwatch = watch(request, limits, fail);
  parser
    .on('partsLimit', () => fail(new GatewayError('bad_request', `The form has more than ${MAX_PARTS} parts.`)))
    .on('error', (cause) => fail(new GatewayError('bad_request', 'The form breaks off, or is no form.', { cause })))
    .on('finish', resolve);
  slow.catch(fail);
  request.pipe(parser);
  try {
    await whole;
    const received = await sound.received();
    const fingerprint = files
      ? fingerprintOf({ fields: Object.fromEntries(fields), files: Object.fromEntries(files) })
      : '';
    return { fields, ...(received && { sound: received }), fingerprint };
  } catch (error) {
    await sound.abandon();
    throw error;
  } finally {
    unwatch();
    request.unpipe(parser);
    // Whatever comes after the form: unread, it would hide that the client has gone.
    request.resume();
  }
}

async function openParser(request: IncomingMessage, soundNames: readonly string[]): Promise<BusboyInstance> {
  const { Busboy } = await import('@fastify/busboy');
  try {
    return new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: {
        parts: MAX_PARTS,
        fieldSize: MAX_FIELD_BYTES,
        headerSize: MAX_PART_HEADER_BYTES,
        headerPairs: MAX_PART_HEADERS,
      },
      isPartAFile: (name, _type, filename) => filename !== undefined || soundNames.includes(name ?? ''),
    });
  } catch (cause) {
    throw new GatewayError('bad_request', 'The Content-Type names no boundary.', { cause });
  }
}

function collectFields(parser: BusboyInstance, fail: Fail): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  parser.on('field', (name: string | undefined, value, _isNameCut, isCut) => {
    if (name === undefined) return;
    if (isCut) fail(invalid(name, `A field is longer than ${MAX_FIELD_BYTES} bytes.`));
    fields.set(name, [...(fields.get(name) ?? []), value]);
  });
  return fields;
}

/**
 * Takes the one sound of a form; other files in it are read over.
 * @param hashes Takes the hashes of all files, by their names. Default: they are not wanted.
 */
function collectSound(
  parser: BusboyInstance,
  { audio, soundNames, maxBytes, signal }: ReadLimits,
  fail: Fail,
  hashes?: Map<string, string[]>,
) {
  let incoming: Readable | undefined;
  let receiving: Promise<UploadedSound> | undefined;
  parser.on('file', (name: string | undefined, stream) => {
    // A form that breaks off says so itself.
    stream.on('error', () => {});
    if (hashes && name !== undefined) hashInto(hashes, name, stream);
    if (name === undefined || !soundNames.includes(name)) return void stream.resume();
    if (receiving) {
      stream.resume();
      return fail(invalid(name, 'Send one sound, and once.'));
    }
    incoming = stream;
    receiving = audio.receive({ chunks: stream, maxBytes, param: name, signal });
    receiving.catch(fail);
  });
  return {
    received: async () => receiving,
    async abandon(): Promise<void> {
      incoming?.destroy();
      await receiving?.then(
        (sound) => sound.remove(),
        () => undefined,
      );
    },
  };
}

/** Listens without asking for anything: whoever takes the file sets the pace. */
function hashInto(hashes: Map<string, string[]>, name: string, stream: Readable): void {
  const hash = createHash('sha256');
  stream.pause();
  stream.on('data', (chunk: Uint8Array) => hash.update(chunk));
  stream.on('end', () => hashes.set(name, [...(hashes.get(name) ?? []), hash.digest('hex')]));
}

/** Counts what arrives of the form, and sees to it that the form ends. */
function watch(request: IncomingMessage, { formBytes, place, onBytes }: ReadLimits, fail: Fail): () => void {
  let bytes = 0;
  const count = (chunk: Uint8Array) => {
    bytes += chunk.length;
    try {
      if (bytes > formBytes) throw tooLarge(formBytes);
      place.add(chunk.length);
      onBytes(bytes);
    } catch (error) {
      fail(error);
    }
  };
  const arrived = () => place.arrived();
  const broken = (cause?: Error) => {
    if (!request.readableEnded) fail(brokenOff(cause));
  };
  request.on('data', count).on('end', arrived).on('close', broken).on('error', broken);
  return () => {
    arrived();
    request.off('data', count).off('end', arrived).off('close', broken).off('error', broken);
  };
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param });
}

/** Texts of a form, by their names. */
export type FormFields = ReadonlyMap<string, readonly string[]>;

/**
 * The one value of a field; undefined where it is absent or empty.
 * @throws GatewayError `invalid_value` where it is sent twice.
 */
export function fieldOf(fields: FormFields, name: string): string | undefined {
  const values = fields.get(name) ?? [];
  if (values.length > 1) throw new GatewayError('invalid_value', `${name} is sent twice.`, { param: name });
  return values[0] || undefined;
}

/**
 * As {@link fieldOf}, for what a request must have.
 * @throws GatewayError `missing_required_parameter` as well.
 */
export function requiredField(fields: FormFields, name: string, what: string): string {
  return fieldOf(fields, name) ?? missing(name, what);
}

/** @throws GatewayError `missing_required_parameter` */
export function missing(param: string, what: string): never {
  throw new GatewayError('missing_required_parameter', `${param} is missing: send ${what}.`, { param });
}

/** Of a header field, which is to stay short whatever is sent. */
const MOST_NAMES = 20;

/** Names what was left out; the names are those of the open format, or the caller's own. */
export function nameIgnored({ res: response }: RequestContext, ignored: readonly string[]): void {
  const names = [...new Set(ignored)].filter((name) => /^[\w.[\]-]{1,64}$/.test(name)).slice(0, MOST_NAMES);
  if (names.length > 0) response.setHeader('x-ignored-params', names.join(', '));
}
