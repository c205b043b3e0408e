/*
 * Reads `multipart/form-data`. An audio file is written to disk while it arrives and removed when the handler has
 * ended; other files stay in memory. A form has at most 20 parts; a field has at most 64 KiB, or 1 MiB for long fields.
 * The form counts in a memory budget, and is ended if it arrives too slowly. The fingerprint is a hash of fields and
 * files in which the boundary, file names and the order of different fields make no difference. After a failure the
 * rest of the request is discarded, since unread bytes would hide a disconnect.
 */

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import type { Audio, UploadedAudio } from '../../../core/audio/index.js';
import { GatewayError, isGatewayError } from '../../../core/runtime/index.js';
import { isVariant } from '../../../core/text/index.js';
import { countRefusals } from './body.js';
import type { BodyBudget, BodyReservation } from './body-budget.js';
import { brokenOff, checkStage, decodeBody, readCodings, tooLarge } from './body-bytes.js';
import { fingerprintOf } from './json-body.js';

const MAX_PARTS = 20;
const MAX_FIELD_BYTES = 64 * 1024;
const MAX_LONG_FIELD_BYTES = 1024 * 1024;
const MAX_PART_HEADER_BYTES = 8 * 1024;
const MAX_PART_HEADERS = 16;
/** For fields and everything between the parts. */
const FRAME_BYTES = MAX_PARTS * (MAX_FIELD_BYTES + MAX_PART_HEADER_BYTES);

/** Limits of any form with files. */
export interface FileFormOptions {
  /** Field names of the files in the form. */
  fileFields: readonly string[];
  /** Maximum bytes of all files together. */
  maxBytes: number;
  /** Shared by all forms of a kind. */
  budget: BodyBudget;
  /** The owner: the account of the key, or the key if it has none. */
  owner: string;
  /** Whether to compute the fingerprint, which hashes the whole content. */
  fingerprinted: boolean;
  /** Fields that are files also if the part has no file name. Default: none. */
  unnamedFiles?: readonly string[];
  /** Fields that may have 1 MiB; others have 64 KiB. Default: none. */
  longFields?: readonly string[];
  /** The fields that must be in their exact letters. Default: any letters. */
  exact?: readonly string[];
}

export interface FormOptions extends Omit<FileFormOptions, 'fileFields' | 'unnamedFiles'> {
  audio: Audio;
  /** Field names of the audio file in the form. */
  audioFields: readonly string[];
  /** Aborts when the client has disconnected. */
  signal: AbortSignal;
}

interface Form<Files> {
  /** All values of each field, in sending order. */
  fields: FormFields;
  files: Files;
  /**
   * SHA-256 in hex of fields and files, or empty. The boundary, file names and the order of different fields make no
   * difference.
   */
  fingerprint: string;
}

export interface AudioForm extends Omit<Form<unknown>, 'files'> {
  /** Undefined if none was sent. */
  audio?: UploadedAudio;
}

/** A file of a form, in memory. */
export interface FormFile {
  /** Name of its field. */
  field: string;
  bytes: Uint8Array;
}

/**
 * Reads a form with an audio file, which is written to disk while it arrives and exists until `use` has ended. Call it
 * after the key was checked.
 * @throws GatewayError `unsupported_media_type`, `request_too_large`, `queue_full`, `request_timeout`, `bad_request`,
 *   `invalid_value`, and what `use` throws.
 */
export function useAudioForm<Result>(
  request: IncomingMessage,
  response: ServerResponse,
  options: FormOptions,
  use: (form: AudioForm) => Promise<Result>,
): Promise<Result> {
  const limits = { ...options, fileFields: options.audioFields, unnamedFiles: options.audioFields };
  const collect: Collect<UploadedAudio | undefined> = (parser, fail, hashes) =>
    collectAudio(parser, options, fail, hashes);
  return useForm(request, response, limits, collect, async ({ files: audio, ...form }) => {
    try {
      return await use({ ...form, ...(audio && { audio }) });
    } finally {
      await audio?.remove();
    }
  });
}

/**
 * Reads a form whose files stay in memory until `use` has ended, in sending order. A part is a file if it has a file
 * name. Call it after the key was checked.
 * @throws GatewayError as {@link useAudioForm}.
 */
export function useFileForm<Result>(
  request: IncomingMessage,
  response: ServerResponse,
  options: FileFormOptions,
  use: (form: Form<readonly FormFile[]>) => Promise<Result>,
): Promise<Result> {
  const collect: Collect<FormFile[]> = (parser, fail, hashes) => collectFiles(parser, options.fileFields, fail, hashes);
  return useForm(request, response, options, collect, use);
}

/** Whether the body is a form with files. */
export function isFileForm({ headers }: IncomingMessage): boolean {
  return /^multipart\/form-data\s*(;|$)/i.test(headers['content-type'] ?? '');
}

/** Takes the files of a form while it is parsed. */
interface Collector<Files> {
  received(): Promise<Files>;
  abandon(): Promise<void>;
}

type Collect<Files> = (parser: BusboyInstance, fail: Fail, hashes?: Map<string, string[]>) => Collector<Files>;

async function useForm<Files, Result>(
  request: IncomingMessage,
  response: ServerResponse,
  options: FileFormOptions,
  collect: Collect<Files>,
  use: (form: Form<Files>) => Promise<Result>,
): Promise<Result> {
  checkType(request);
  const codings = readCodings(request, response);
  const { budget, owner } = options;
  const maxBytes = options.maxBytes + FRAME_BYTES;
  const announced = request.headers['content-length'];
  const onBytes = countRefusals(response, budget, owner);
  if (announced !== undefined) onBytes(Number(announced));
  if (Number(announced ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const slow = Promise.withResolvers<never>();
  slow.promise.catch(() => undefined);
  const reservation = budget.open(owner, slow.reject);
  try {
    if (request.headers.expect !== undefined) response.writeContinue();
    const limits = { ...options, formBytes: maxBytes, reservation, onBytes };
    const source = codings ? await decodeBody(request, codings, checkStage(maxBytes)) : request;
    return await use(await readForm({ request, source }, limits, collect, slow.promise));
  } finally {
    reservation.release();
  }
}

function checkType(request: IncomingMessage): void {
  if (!isFileForm(request)) {
    throw new GatewayError('unsupported_media_type', 'Send the body as Content-Type: multipart/form-data.');
  }
}

interface ReadLimits extends FileFormOptions {
  /** Maximum bytes of the whole form. */
  formBytes: number;
  reservation: BodyReservation;
  /** Called with the number of bytes so far. What it throws ends the reading. */
  onBytes(bytes: number): void;
}

type Fail = (error: unknown) => void;

/** @param slow Rejects if the form arrives too slowly. */
async function readForm<Files>(
  { request, source }: { request: IncomingMessage; source: Readable },
  limits: ReadLimits,
  collect: Collect<Files>,
  slow: Promise<never>,
): Promise<Form<Files>> {
  const parser = await openParser(request.headers, limits.unnamedFiles ?? []);
  const { promise: whole, resolve, reject: fail } = Promise.withResolvers<void>();
  const fields = collectFields(parser, fail, limits.longFields);
  const hashes = limits.fingerprinted ? new Map<string, string[]>() : undefined;
  const collector = collect(parser, fail, hashes);
  const unwatch = watch(source, limits, fail);
  parser
    .on('partsLimit', () => fail(new GatewayError('bad_request', `The form has more than ${MAX_PARTS} parts.`)))
    .on('error', (cause) => fail(new GatewayError('bad_request', 'The form is incomplete or invalid.', { cause })))
    .on('finish', resolve);
  slow.catch(fail);
  source.pipe(parser);
  try {
    await whole;
    const files = await collector.received();
    refuseVariants(fields, limits.exact);
    const fingerprint = hashes
      ? fingerprintOf({ fields: Object.fromEntries(fields), files: Object.fromEntries(hashes) })
      : '';
    return { fields, files, fingerprint };
  } catch (error) {
    await collector.abandon();
    throw error;
  } finally {
    unwatch();
    source.unpipe(parser);
    if (source !== request) source.destroy();
    // Discards bytes after the form: unread, they would hide a disconnect.
    request.resume();
  }
}

/** @throws GatewayError `invalid_value`. */
function refuseVariants(fields: FormFields, exact: readonly string[] = []): void {
  const known = new Set(exact);
  for (const name of fields.keys()) {
    if (known.has(name) || !isVariant(name, known)) continue;
    throw invalid(name.slice(0, 200), 'The names of fields are written in small letters.');
  }
}

async function openParser(headers: IncomingHttpHeaders, fileFields: readonly string[]): Promise<BusboyInstance> {
  const { Busboy } = await import('@fastify/busboy');
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: {
        parts: MAX_PARTS,
        fieldSize: MAX_LONG_FIELD_BYTES,
        headerSize: MAX_PART_HEADER_BYTES,
        headerPairs: MAX_PART_HEADERS,
      },
      isPartAFile: (name, _type, filename) => filename !== undefined || fileFields.includes(name ?? ''),
    });
  } catch (cause) {
    throw new GatewayError('bad_request', 'The Content-Type names no boundary.', { cause });
  }
}

function collectFields(
  parser: BusboyInstance,
  fail: Fail,
  longFields: readonly string[] = [],
): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  parser.on('field', (name: string | undefined, value, _isNameCut, isCut) => {
    if (name === undefined) return;
    const maxBytes = longFields.includes(name) ? MAX_LONG_FIELD_BYTES : MAX_FIELD_BYTES;
    if (isCut || Buffer.byteLength(value) > maxBytes) fail(invalid(name, `A field is longer than ${maxBytes} bytes.`));
    fields.set(name, [...(fields.get(name) ?? []), value]);
  });
  return fields;
}

/**
 * Takes the audio file of a form; other files are skipped.
 * @param hashes Receives the hashes of all files by name. Default: none.
 */
function collectAudio(
  parser: BusboyInstance,
  { audio, audioFields, maxBytes, signal }: FormOptions,
  fail: Fail,
  hashes?: Map<string, string[]>,
): Collector<UploadedAudio | undefined> {
  let incoming: Readable | undefined;
  let receiving: Promise<UploadedAudio> | undefined;
  parser.on('file', (name: string | undefined, stream) => {
    // A truncated form fails by itself.
    stream.on('error', () => {});
    if (hashes && name !== undefined) hashInto(hashes, name, stream);
    if (name === undefined || !audioFields.includes(name)) return void stream.resume();
    if (receiving) {
      stream.resume();
      return fail(invalid(name, 'Send exactly one audio file.'));
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
        (audio) => audio.remove(),
        () => undefined,
      );
    },
  };
}

/** Keeps the files of a form in memory: the limit of the whole form is their limit. */
function collectFiles(
  parser: BusboyInstance,
  fileFields: readonly string[],
  fail: Fail,
  hashes?: Map<string, string[]>,
): Collector<FormFile[]> {
  const files: { field: string; chunks: Uint8Array[] }[] = [];
  parser.on('file', (name: string | undefined, stream) => {
    // A truncated form fails by itself.
    stream.on('error', () => {});
    if (name === undefined || !fileFields.includes(name)) {
      stream.resume();
      return fail(
        invalid(name ?? 'file', `A file is sent in a field that takes none. Files: ${fileFields.join(', ')}.`),
      );
    }
    if (hashes) hashInto(hashes, name, stream);
    const chunks: Uint8Array[] = [];
    files.push({ field: name, chunks });
    stream.on('data', (chunk: Uint8Array) => chunks.push(chunk)).resume();
  });
  return {
    received: async () => files.map(({ field, chunks }) => ({ field, bytes: Buffer.concat(chunks) })),
    abandon: async () => void files.splice(0),
  };
}

/** Listens without reading: the reader of the file sets the pace. */
function hashInto(hashes: Map<string, string[]>, name: string, stream: Readable): void {
  const hash = createHash('sha256');
  stream.pause();
  stream.on('data', (chunk: Uint8Array) => hash.update(chunk));
  stream.on('end', () => hashes.set(name, [...(hashes.get(name) ?? []), hash.digest('hex')]));
}

/** Counts the bytes of the form as they arrive, and makes sure that it ends. */
function watch(source: Readable, { formBytes, reservation, onBytes }: ReadLimits, fail: Fail): () => void {
  let bytes = 0;
  const count = (chunk: Uint8Array) => {
    bytes += chunk.length;
    try {
      if (bytes > formBytes) throw tooLarge(formBytes);
      reservation.add(chunk.length);
      onBytes(bytes);
    } catch (error) {
      fail(error);
    }
  };
  const arrived = () => reservation.arrived();
  const broken = (cause?: Error) => {
    if (!source.readableEnded) fail(isGatewayError(cause) ? cause : brokenOff(cause));
  };
  source.on('data', count).on('end', arrived).on('close', broken).on('error', broken);
  return () => {
    arrived();
    source.off('data', count).off('end', arrived).off('close', broken).off('error', broken);
  };
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param });
}

/** Text fields of a form, by name. */
export type FormFields = ReadonlyMap<string, readonly string[]>;

/**
 * The single value of a field; undefined if it is absent or empty.
 * @throws GatewayError `invalid_value` if it was sent twice.
 */
export function fieldOf(fields: FormFields, name: string): string | undefined {
  const values = fields.get(name) ?? [];
  if (values.length > 1) throw new GatewayError('invalid_value', `${name} is sent twice.`, { param: name });
  return values[0] || undefined;
}

/**
 * As {@link fieldOf}, for a required field.
 * @throws GatewayError `missing_required_parameter` as well.
 */
export function requiredField(fields: FormFields, name: string, what: string): string {
  return fieldOf(fields, name) ?? missing(name, what);
}

/** @throws GatewayError `missing_required_parameter` */
export function missing(param: string, what: string): never {
  throw new GatewayError('missing_required_parameter', `${param} is missing: send ${what}.`, { param });
}
