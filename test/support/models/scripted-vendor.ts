/** A vendor's server that sends given bytes. */

import { text as readText } from 'node:stream/consumers';
import { extendOrigin, type OriginServer, startOrigin } from '../links/origin-server.js';

/** What a vendor's server sends for a request, byte by byte. */
export interface VendorScript {
  status?: number;
  /** Default `text/event-stream`; null for none. */
  type?: string | null;
  headers?: Readonly<Record<string, string>>;
  /** Texts to write, and milliseconds to wait between them. */
  pieces: readonly (string | number)[];
  /** `hang`: the body never ends; `silent`: not even a status comes; `break`: the connection ends. Default: it ends. */
  ends?: 'hang' | 'silent' | 'break';
}

export interface VendorRequest {
  path: string;
  body: Record<string, unknown>;
  headers: NodeJS.Dict<string | string[]>;
}

/** A server of any text format whose answers are scripted, in no format of its own. */
export interface ScriptedVendor extends OriginServer {
  /** Base address with its version. */
  readonly url: string;
  readonly requests: readonly VendorRequest[];
  answer(script: VendorScript | ((request: VendorRequest) => VendorScript)): void;
  reset(): void;
}

export async function startScriptedVendor(): Promise<ScriptedVendor> {
  let requests: VendorRequest[] = [];
  let next: (request: VendorRequest) => VendorScript = () => ({ pieces: [] });
  const origin = await startOrigin(async (incoming, response) => {
    const text = await readText(incoming).catch(() => '');
    if (incoming.method !== 'POST' || text === '') return void response.writeHead(404).end();
    const request = { path: incoming.url ?? '', body: JSON.parse(text), headers: incoming.headers };
    requests.push(request);
    const { status = 200, type = 'text/event-stream', headers, pieces, ends } = next(request);
    if (ends === 'silent') return;
    response.writeHead(status, { ...(type !== null && { 'content-type': type }), ...headers });
    response.flushHeaders();
    for (const piece of pieces) {
      if (response.destroyed) return;
      if (typeof piece === 'string') response.write(piece);
      // Each piece is a packet of its own.
      await new Promise((done) => setTimeout(done, typeof piece === 'string' ? 2 : piece));
    }
    if (ends === 'break') response.destroy();
    else if (ends !== 'hang') response.end();
  });
  return extendOrigin<ScriptedVendor>(origin, {
    url: `${origin.origin}/v1`,
    get requests() {
      return requests;
    },
    answer(script) {
      next = typeof script === 'function' ? script : () => script;
    },
    reset() {
      requests = [];
    },
  });
}

/** Events with these data, in order. */
export function dataEvents(...all: readonly (object | string)[]): string {
  return all.map((one) => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`).join('');
}

/** Events with names, as formats with a `type` have them. */
export function namedEvents(...all: readonly ({ type: string } & Record<string, unknown>)[]): string {
  return all.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('');
}

const CHUNK = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'vendor-1' };

export function chatChunk(delta: object, finish: string | null = null): object {
  return { ...CHUNK, choices: [{ index: 0, delta, finish_reason: finish }] };
}

const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1_760_000_000, model: 'vendor-1' };

export function responseObject(status: string, text?: string, more: object = {}): Record<string, unknown> {
  const content = [{ type: 'output_text', text, annotations: [] }];
  const output = [{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content }];
  return { ...RESPONSE, status, error: null, output: text === undefined ? [] : output, ...more };
}

export function messageObject(text?: string): Record<string, unknown> {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'vendor-1',
    content: text === undefined ? [] : [{ type: 'text', text }],
    stop_reason: text === undefined ? null : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: text === undefined ? 1 : 5 },
  };
}

/** A good answer of each route, whole and as events. */
export function goodAnswer(path: string, text: string): { whole: string; events: string } {
  if (path.endsWith('/chat/completions'))
    return {
      whole: JSON.stringify({
        ...CHUNK,
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
      }),
      events: dataEvents(
        chatChunk({ role: 'assistant', content: '' }),
        chatChunk({ content: text }),
        chatChunk({}, 'stop'),
        { ...CHUNK, choices: [], usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 } },
        '[DONE]',
      ),
    };
  const usage = { input_tokens: 11, output_tokens: 5, total_tokens: 16 };
  if (path.endsWith('/responses')) {
    const done = responseObject('completed', text, { usage });
    const [item] = done.output as readonly object[];
    return {
      whole: JSON.stringify(done),
      events: namedEvents(
        { type: 'response.created', sequence_number: 0, response: responseObject('in_progress') },
        { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...item, content: [] } },
        {
          type: 'response.output_text.delta',
          sequence_number: 2,
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          delta: text,
        },
        { type: 'response.output_item.done', sequence_number: 3, output_index: 0, item },
        { type: 'response.completed', sequence_number: 4, response: done },
      ),
    };
  }
  return {
    whole: JSON.stringify(messageObject(text)),
    events: namedEvents(
      { type: 'message_start', message: messageObject() },
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 5 },
      },
      { type: 'message_stop' },
    ),
  };
}

/** The good answer in the form that was asked for. */
export function goodScript(text: string): (request: VendorRequest) => VendorScript {
  return ({ path, body }) => {
    const { whole, events } = goodAnswer(path, text);
    return body.stream === true ? { pieces: [events] } : { type: 'application/json', pieces: [whole] };
  };
}
