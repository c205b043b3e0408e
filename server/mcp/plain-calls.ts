/*
 * The plain call of a tool, answered without the package of the protocol. It is what agents send most: one `tools/call`
 * of a known revision, without a task and without a token for progress. Everything else, and every message that is not
 * exactly of this form, goes to the package, whose answers a test holds these to. A call that takes longer than some
 * seconds continues as events, whose comments keep the connection open.
 *
 * Gain: the package makes a server for each request, web requests and streams, and checks each message against several
 * schemas: a cached link by `get_link_data` takes 7.6 times the CPU of its route by it, 5.6 times without it, and 1.4 to
 * 1.6 times with results that are ready (see `link-parts.ts`).
 */

import type { IncomingHttpHeaders } from 'node:http';
import { endsWithin, isRecord, type Logger } from '../../core/runtime/index.js';
import { type RequestContext, sendEvents, sendWhole } from '../http/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { PACKAGE_VERSION } from '../version.js';
import { READY, type ToolResult } from './results.js';
import type { Tool, ToolCall, ToolInput } from './tool.js';
import type { ToolCalls } from './tool-calls.js';

/** Who answers, in every result of revision 2026-07-28. */
export const SERVER_IDENTITY = { name: 'mediagate', title: 'mediagate', version: PACKAGE_VERSION };

const MODERN = '2026-07-28';
const LEGACY: ReadonlySet<string> = new Set(['2025-11-25', '2025-06-18', '2025-03-26']);
/** Names of the protocol in envelopes and capabilities begin with it. */
export const OWN_META = 'io.modelcontextprotocol/';
export const CLIENT_CAPABILITIES = `${OWN_META}clientCapabilities`;
const MESSAGE_FIELDS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);
const PARAMS_FIELDS: ReadonlySet<string> = new Set(['name', 'arguments', '_meta']);
const INTERNAL_ERROR = -32_603;
/** Media type of answers that are events. */
export const EVENTS_TYPE = 'text/event-stream';
/** A longer call is answered by events. */
const QUICK_MS = 5_000;
/** Between two comments that keep a connection open. */
const KEEP_ALIVE_MS = 15_000;
const BEGIN_RESULT = Buffer.from('{"result":{');

export interface PlainCall {
  id: string | number;
  tool: Tool;
  input: ToolInput;
  isModern: boolean;
}

/** Reads a message as a plain call of a tool that the key may use. Undefined if it is anything else. */
export function readPlainCall(
  message: Readonly<Record<string, unknown>>,
  headers: IncomingHttpHeaders,
  { calls, key }: { calls: ToolCalls; key: ApiKeyRecord },
): PlainCall | undefined {
  const { id, method, params } = message;
  if (method !== 'tools/call' || !isRecord(params) || !(typeof id === 'string' || Number.isSafeInteger(id))) return;
  const { name, arguments: input = {}, _meta: meta = {} } = params;
  if (typeof name !== 'string' || !isRecord(input) || !isRecord(meta)) return;
  if (!hasOnly(message, MESSAGE_FIELDS) || !hasOnly(params, PARAMS_FIELDS)) return;
  const isModern = isModernCall(name, meta, headers);
  if (!isModern && !isLegacyCall(meta, headers)) return;
  const tool = calls.find(key, name);
  return tool && { id: id as string | number, tool, input, isModern };
}

/** Runs the call, and answers it. */
export async function answerPlainCall(
  context: RequestContext,
  { id, tool, input, isModern }: PlainCall,
  { calls, call, logger }: { calls: ToolCalls; call: Omit<ToolCall, 'input'>; logger: Logger },
): Promise<void> {
  const encoded = calls.call(tool, { ...call, input }, { task: 'none' }).then(
    (outcome) => encodeResult(outcome as ToolResult, { id, isModern }),
    (error: unknown) => {
      logger.debug('a call of a tool failed', { error });
      return encode({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: 'Internal error' } });
    },
  );
  const takesEvents = context.req.headers.accept?.includes(EVENTS_TYPE) === true;
  if (takesEvents && !(await endsWithin(QUICK_MS, () => encoded))) {
    await sendEvents(context, { status: 200, headers: {} }, eventsOf(encoded));
    return;
  }
  sendWhole(context, { status: 200, headers: { 'content-type': 'application/json' } }, await encoded);
}

/** Whether headers and envelope say the same, as revision 2026-07-28 requires, and the client takes no tasks. */
function isModernCall(name: string, meta: Readonly<Record<string, unknown>>, headers: IncomingHttpHeaders): boolean {
  const capabilities = meta[CLIENT_CAPABILITIES];
  const client = meta[`${OWN_META}clientInfo`];
  return (
    headers['mcp-protocol-version'] === MODERN &&
    headers['mcp-method'] === 'tools/call' &&
    headers['mcp-name'] === name &&
    meta[`${OWN_META}protocolVersion`] === MODERN &&
    isRecord(client) &&
    typeof client.name === 'string' &&
    typeof client.version === 'string' &&
    isRecord(capabilities) &&
    capabilities.extensions === undefined &&
    Object.keys(meta).filter((field) => field.startsWith(OWN_META)).length === 3 &&
    meta.progressToken === undefined
  );
}

/** Whether it is a call of an earlier revision, as a client sends it after its handshake. */
function isLegacyCall(meta: Readonly<Record<string, unknown>>, headers: IncomingHttpHeaders): boolean {
  const revision = headers['mcp-protocol-version'];
  if (typeof revision !== 'string' || !LEGACY.has(revision) || meta.progressToken !== undefined) return false;
  return headers['mcp-method'] === undefined && !Object.keys(meta).some((field) => field.startsWith(OWN_META));
}

function hasOnly(record: object, names: ReadonlySet<string>): boolean {
  return Object.keys(record).every((name) => names.has(name));
}

/** The response with a result; one that is ready is copied. */
function encodeResult(result: ToolResult, { id, isModern }: Pick<PlainCall, 'id' | 'isModern'>): Buffer {
  const _meta = { ...result._meta, [`${OWN_META}serverInfo`]: SERVER_IDENTITY };
  const more = isModern ? { resultType: 'complete', _meta } : {};
  const ready = result[READY];
  if (!ready) return encode({ result: { ...result, ...more }, jsonrpc: '2.0', id });
  const rest = isModern ? `,${JSON.stringify(more).slice(1)}` : '}';
  const end = Buffer.from(`${rest},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`);
  return Buffer.concat([BEGIN_RESULT, ...ready, end]);
}

function encode(message: object): Buffer {
  return Buffer.from(JSON.stringify(message));
}

/** The response as an event, after comments while it is not there. */
async function* eventsOf(encoded: Promise<Buffer>): AsyncGenerator<Uint8Array> {
  // The first comment sends the head.
  do yield Buffer.from(': keep-alive\n\n');
  while (!(await endsWithin(KEEP_ALIVE_MS, () => encoded)));
  yield Buffer.from(`event: message\ndata: ${await encoded}\n\n`);
}
