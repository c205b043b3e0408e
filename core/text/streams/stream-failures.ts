/*
 * The words of failures in answers: the terminal events of streams that broke off, for each route, with what SDKs need
 * to throw an error, and the errors of upstreams as callers may read them.
 */

import { randomBytes } from 'node:crypto';
import { DONE_EVENT, encodeEvent, encodeTypedEvent, type GatewayError } from '../../runtime/index.js';
import { isText, OPEN_BRACE, QUOTE, readValue, walkFields } from '../json.js';
import type { VectorForm } from '../vectors.js';

/** What a stream of the responses route reported about itself before it broke off. */
interface BrokenResponse {
  id?: string;
  /** Seconds since 1970. */
  createdAt?: number;
  /** Of the last event; -1 if there was none. */
  sequenceNumber: number;
  model: string;
}

/** Ends a chat stream that broke off: SDKs throw at the first event, simpler readers stop at the second. */
export function chatFailure(error: GatewayError, requestId: string): string {
  const { message, ...codes } = wordsOf(error, error.code);
  const encoded = { message, type: typeOf(error), param: null, ...codes, request_id: requestId };
  return encodeEvent(JSON.stringify({ error: encoded })) + DONE_EVENT;
}

/** Ends a stream of the messages route that broke off. */
export function messageFailure(error: GatewayError, requestId: string): string {
  const type = typeOf(error);
  const encoded = { type: type === 'server_error' ? 'api_error' : type, message: error.message };
  return encodeTypedEvent('error', { error: encoded, request_id: requestId });
}

/** Ends a stream of the responses route that broke off, with all required fields. */
export function responsesFailure(error: GatewayError, broken: BrokenResponse, now: number): string {
  const { id, createdAt, sequenceNumber, model } = broken;
  const response = {
    id: id ?? `resp_${randomBytes(24).toString('hex')}`,
    object: 'response',
    created_at: createdAt ?? Math.floor(now / 1000),
    status: 'failed',
    background: false,
    error: wordsOf(error, CALLER_ENDS.has(error.code) ? error.code : 'server_error'),
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    usage: null,
  };
  return encodeTypedEvent('response.failed', { sequence_number: sequenceNumber + 1, response });
}

/** A model vendor's words take the place of the gateway's own, as in other errors. */
function wordsOf({ message, code: own, upstream }: GatewayError, code: string) {
  if (!upstream) return { code, message };
  return { code: upstream.code ?? code, message: upstream.message ?? message, gateway_code: own };
}

/** Codes of a stream that ended because its caller may no longer read it: its client must not try again. */
const CALLER_ENDS: ReadonlyMap<string, string> = new Map([
  ['revoked_api_key', 'authentication_error'],
  ['account_suspended', 'permission_error'],
]);

function typeOf({ code }: GatewayError): string {
  const ofCaller = CALLER_ENDS.get(code);
  if (ofCaller !== undefined) return ofCaller;
  if (code === 'upstream_timeout') return 'timeout_error';
  return code === 'shutting_down' ? 'overloaded_error' : 'server_error';
}

export interface Wording {
  /** Public model id as JSON text. */
  modelText: Buffer;
  /** Removes what callers must not read from an upstream's message. */
  plainWords(words: string): string;
  /** Form of the vectors in a whole answer. Default: as the upstream sent them. */
  vectors?: VectorForm;
}

/**
 * Returns an error event as callers may read it: an upstream's message names its model, address and keys. An event
 * without such content stays byte for byte the same.
 * @param bytes JSON object: of an event, or a whole answer.
 * @throws SyntaxError if there is no whole object.
 */
export function rewordFailure(bytes: Buffer, { modelText, plainWords }: Wording): Buffer {
  const pieces: Buffer[] = [];
  let done = 0;

  function replace(start: number, end: number, text: Buffer): void {
    pieces.push(bytes.subarray(done, start), text);
    done = end;
  }

  function scan(from: number): void {
    walkFields(bytes, from, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const named = (name: string) => isText(bytes, nameStart, nameEnd, name);
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (named('model')) replace(valueStart, valueEnd, modelText);
        else if (named('message') || named('error')) {
          const words = String(readValue(bytes, valueStart, valueEnd));
          const plain = plainWords(words);
          if (plain !== words) replace(valueStart, valueEnd, Buffer.from(JSON.stringify(plain)));
        }
      } else if (first === OPEN_BRACE && (named('error') || named('response'))) scan(valueStart);
    });
  }

  scan(0);
  if (pieces.length === 0) return bytes;
  pieces.push(bytes.subarray(done));
  return Buffer.concat(pieces);
}
