/** A local server in Anthropic's format, exact to the bytes. */

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { extendOrigin, type OriginServer, startOrigin } from '../links/origin-server.js';
import { inPieces } from './scripted-text.js';

/** A mock of a server with Anthropic's messages format, exact to the bytes of its events. */
export interface AnthropicUpstream extends OriginServer {
  /** Without a version, as the vendor's own. */
  readonly url: string;
  readonly requests: readonly AnthropicRequest[];
  /** Requests whose connection ended before their answer. */
  readonly left: number;
  /** What the next requests get; the last one stays. Default: an answer. */
  behave(...behaviors: Behavior[]): void;
  reset(): void;
}

export interface AnthropicRequest {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: Record<string, unknown>;
}

export type Behavior =
  | {
      does: 'answer';
      /** Bytes of each piece of a stream. Default: one event. */
      pieces?: number;
      /** What a stream does after so many events, in place of the rest. */
      ends?: 'break' | 'stall' | 'error';
      after?: number;
      stopReason?: string;
      usage?: Record<string, unknown>;
    }
  | {
      does: 'refuse';
      status: number;
      type: string;
      message: string;
      headers?: Readonly<Record<string, string | undefined>>;
    };

type Block = Record<string, unknown> & { type: string };

/** Stands for a number that JavaScript does not have. */
const BIG = '9007199254740993n';
export const USAGE = { input_tokens: 11, cache_creation_input_tokens: 20, cache_read_input_tokens: 300 };
const KNOWN = new Set(
  'model messages max_tokens system tools tool_choice stream thinking output_config metadata stop_sequences temperature top_p top_k service_tier cache_control container mcp_servers context_management inference_geo speed'.split(
    ' ',
  ),
);

export async function startAnthropicUpstream({ apiKey }: { apiKey?: string } = {}): Promise<AnthropicUpstream> {
  const requests: AnthropicRequest[] = [];
  let behaviors: Behavior[] = [];
  let left = 0;

  const origin = await startOrigin(async (request, response) => {
    const text = await readText(request);
    const [path = ''] = (request.url ?? '').split('?');
    const body = text === '' ? {} : JSON.parse(text);
    if (request.method === 'POST') requests.push({ path, headers: request.headers, text, body });
    response.on('close', () => {
      if (!response.writableEnded) left += 1;
    });
    if (apiKey !== undefined && request.headers['x-api-key'] !== apiKey) {
      return refuse(response, 401, 'authentication_error', 'invalid x-api-key');
    }
    if (request.method === 'GET' && path === '/v1/models') {
      return json(response, 200, { data: [{ type: 'model', id: 'claude-vendor-9-20260101' }], has_more: false });
    }
    const fault = faultOf(path, request.headers, body);
    if (fault) return refuse(response, 400, 'invalid_request_error', fault);
    const behavior = (behaviors.length > 1 ? behaviors.shift() : behaviors[0]) ?? { does: 'answer' };
    if (behavior.does === 'refuse') {
      return refuse(response, behavior.status, behavior.type, behavior.message, behavior.headers);
    }
    if (path.endsWith('/count_tokens')) return json(response, 200, { input_tokens: 42, context_management: null });
    const content = contentOf(body);
    const last = content.at(-1)?.type;
    const end = {
      stop_reason: behavior.stopReason ?? (last === 'tool_use' ? 'tool_use' : 'end_turn'),
      stop_sequence: null,
    };
    const usage = { ...USAGE, output_tokens: 1, ...behavior.usage };
    const message = { id: 'msg_01', type: 'message', role: 'assistant', model: body.model };
    if (body.stream !== true) {
      return json(response, 200, { ...message, content, ...end, usage: { ...usage, output_tokens: 17 } });
    }
    const start = { ...message, content: [], stop_reason: null, stop_sequence: null, usage };
    const delta = { delta: end, usage: { output_tokens: 17 } };
    const events = [
      event('message_start', { message: start }),
      event('ping'),
      ...content.flatMap(eventsOf),
      event('message_delta', delta),
      event('message_stop'),
    ];
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'request-id': 'req_upstream' });
    const sent = behavior.ends ? events.slice(0, behavior.after ?? 4) : events;
    const pieces = behavior.pieces ? inPieces(Buffer.from(sent.join('')), behavior.pieces) : sent;
    for (const piece of pieces) {
      response.write(piece);
      await turn();
    }
    if (behavior.ends === 'stall') return;
    if (behavior.ends === 'break') return response.destroy();
    if (behavior.ends === 'error') {
      const error = { type: 'overloaded_error', message: `${body.model} is overloaded` };
      response.write(event('error', { error, request_id: 'req_upstream' }));
    }
    response.end();
  });
  return extendOrigin<AnthropicUpstream>(origin, {
    url: origin.origin,
    requests,
    get left() {
      return left;
    },
    behave: (...given) => {
      behaviors = given;
    },
    reset() {
      requests.length = 0;
      behaviors = [];
      left = 0;
    },
  });
}

function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string | undefined>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_upstream', ...headers });
  response.end(stringify(value));
}

function stringify(value: unknown): string {
  return JSON.stringify(value).replaceAll(`"${BIG}"`, BIG.slice(0, -1));
}

function refuse(
  response: ServerResponse,
  status: number,
  type: string,
  message: string,
  headers?: Readonly<Record<string, string | undefined>>,
): void {
  json(response, status, { type: 'error', error: { type, message }, request_id: 'req_upstream' }, headers);
}

/** In the words of the vendor. */
function faultOf(path: string, headers: IncomingHttpHeaders, body: Record<string, unknown>): string | undefined {
  if (headers['anthropic-version'] === undefined) return 'anthropic-version: header is required';
  const extra = Object.keys(body).find((name) => !KNOWN.has(name) && !name.startsWith('x_'));
  if (extra) return `${extra}: Extra inputs are not permitted`;
  const { messages, thinking, max_tokens: max, temperature } = body;
  if (!Array.isArray(messages) || messages.length === 0) return 'messages: at least one message is required';
  if (!path.endsWith('/count_tokens') && typeof max !== 'number') return 'max_tokens: Field required';
  const { type, budget_tokens: budget } = (thinking ?? {}) as { type?: string; budget_tokens?: number };
  if (type === 'enabled') {
    if (Number(max) <= Number(budget)) return '`max_tokens` must be greater than `thinking.budget_tokens`.';
    if (temperature !== undefined) return '`temperature` may only be set to 1 when thinking is enabled.';
  }
  let open: unknown[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== 'user' && role !== 'assistant') return `messages.${index}.role: unexpected role`;
    const blocks: Block[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
    if (blocks.some((block) => block.type === 'text' && block.text === '')) {
      return `messages.${index}: text content blocks must be non-empty`;
    }
    const results = blocks.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id);
    const missing = open.find((id) => !results.includes(id));
    if (missing) return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks: ${missing}`;
    open = blocks.filter((block) => block.type === 'tool_use').map(({ id }) => id);
    const odd = open.find((id) => !/^[a-zA-Z0-9_-]+$/.test(String(id)));
    if (odd) return `messages.${index}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
  }
  return undefined;
}

/** Thinks if it is asked to, calls each tool once, and repeats the last text or result. */
function contentOf({ messages, thinking, tools, tool_choice: choice }: Record<string, unknown>): Block[] {
  const last = (messages as { role: string; content: unknown }[]).at(-1)?.content;
  const blocks: Block[] = Array.isArray(last) ? last : [{ type: 'text', text: last }];
  const result = blocks.find(({ type }) => type === 'tool_result');
  const type = (thinking as { type?: string } | undefined)?.type;
  const thought =
    type === 'adaptive' || type === 'enabled'
      ? [{ type: 'thinking', thinking: 'Two tugs, I think.', signature: 'c2lnbmF0dXJl' }]
      : [];
  if (Array.isArray(tools) && !result && (choice as { type?: string } | undefined)?.type !== 'none') {
    const calls = tools.map(({ name }, index) => {
      const input = index === 0 ? { place: 'Ostend "quay"', id: BIG } : {};
      return { type: 'tool_use', id: `toolu_0${index}`, name, input };
    });
    return [...thought, { type: 'text', text: 'A moment.' }, ...calls] as Block[];
  }
  const parts = result ? result.content : blocks;
  const texts = Array.isArray(parts) ? parts.map(({ text }) => text ?? '').join(' ') : String(parts);
  return [...thought, { type: 'text', text: `You said: ${texts.trim()}` }];
}

function event(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function eventsOf(block: Block, index: number): string[] {
  const start = (content_block: object) => event('content_block_start', { index, content_block });
  const delta = (fields: object) => event('content_block_delta', { index, delta: fields });
  const stop = event('content_block_stop', { index });
  if (block.type === 'text') {
    const texts = String(block.text).match(/.{1,7}/gs) ?? [];
    return [start({ type: 'text', text: '' }), ...texts.map((text) => delta({ type: 'text_delta', text })), stop];
  }
  if (block.type === 'thinking') {
    const { thinking, signature } = block;
    return [
      start({ type: 'thinking', thinking: '', signature: '' }),
      delta({ type: 'thinking_delta', thinking }),
      delta({ type: 'signature_delta', signature }),
      stop,
    ];
  }
  const { type, id, name, input } = block;
  const pieces = Object.keys(input as object).length === 0 ? [''] : ['', ...(stringify(input).match(/.{1,9}/gs) ?? [])];
  return [
    start({ type, id, name, input: {} }),
    ...pieces.map((partial_json) => delta({ type: 'input_json_delta', partial_json })),
    stop,
  ];
}
