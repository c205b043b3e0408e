import {
  GatewayError,
  type PluginContext,
  type StoredResponseCall,
  type TextCall,
  type TextProvider,
  type TextReply,
} from 'mediagate';
import { createEcho, type Echo, readConversation } from './conversation.js';
import { chatCompletion, chatEvents, finishedResponse, responseEvents, responseIdOf } from './formats.js';
import { createKeptResponses } from './kept-responses.js';
import type { Options } from './options.js';

/** 20,000 values, above which fields may be missing, take at least so many bytes. */
const MAX_PARSED_BYTES = 40_000;
const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream; charset=utf-8';

export function createEchoProvider({ options, clock }: PluginContext<Options>): TextProvider {
  const { model, efforts, paceMs } = options;
  const kept = createKeptResponses();

  const reply = (contentType: string, body: AsyncIterable<Uint8Array>): TextReply => ({
    status: 200,
    headers: { 'content-type': contentType },
    body,
    upstream: 'echo',
    upstreamModel: model,
  });

  async function* paced(events: Iterable<string>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (const event of events) {
      signal.throwIfAborted();
      yield Buffer.from(event);
      if (paceMs > 0) await clock.sleep(paceMs, signal);
    }
  }

  function earlierOf(id: unknown): number {
    if (typeof id !== 'string') return 0;
    const earlier = kept.find(id);
    if (earlier) return earlier.tokens;
    const param = 'previous_response_id';
    throw new GatewayError('previous_response_not_found', 'There is no such response to go on from.', { param });
  }

  function keep(echo: Echo, parsed: TextCall['parsed'], said: readonly object[]): void {
    if (parsed.store === false) return;
    const id = responseIdOf(echo);
    const data = said.map((item, index) => ({ id: `msg_${echo.id}_${index}`, type: 'message', ...item }));
    const list = { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
    kept.add({
      id,
      response: JSON.stringify(finishedResponse(echo, parsed)),
      input: JSON.stringify({ ...list, has_more: false }),
      tokens: echo.inputTokens + echo.tokens.length,
    });
  }

  return {
    models: [{ id: model, routes: ['chat_completions', 'responses'], efforts }],
    tasks: ['input_tokens'],
    async send(call) {
      const { route, task, stream, signal } = call;
      const parsed = wholeOf(call);
      signal.throwIfAborted();
      const conversation = readConversation(route, parsed);
      const isResponse = route === 'responses';
      const earlierTokens = isResponse ? earlierOf(parsed.previous_response_id) : 0;
      const echo = createEcho(conversation, { model, now: clock.now(), earlierTokens });
      if (task === 'input_tokens') {
        const { inputTokens } = echo;
        return reply(JSON_TYPE, whole(JSON.stringify({ object: 'response.input_tokens', input_tokens: inputTokens })));
      }
      if (isResponse) keep(echo, parsed, conversation.said);
      if (stream) {
        const events = isResponse ? responseEvents(echo, parsed) : chatEvents(echo, asksForUsage(parsed));
        return reply(STREAM_TYPE, paced(events, signal));
      }
      return reply(
        JSON_TYPE,
        whole(JSON.stringify(isResponse ? finishedResponse(echo, parsed) : chatCompletion(echo))),
      );
    },
    async stored({ action, responseId, query, signal }: StoredResponseCall) {
      signal.throwIfAborted();
      const { response, input } = kept.get(responseId);
      if (action === 'input_items') return reply(JSON_TYPE, whole(input));
      if (action === 'cancel') throw new GatewayError('invalid_value', 'An echo is complete when it is there.');
      if (action === 'delete') {
        kept.delete(responseId);
        return reply(JSON_TYPE, whole(JSON.stringify({ id: responseId, object: 'response', deleted: true })));
      }
      if (new URLSearchParams(query).get('stream') === 'true') {
        throw new GatewayError('unsupported_value', 'An echo is streamed once.', { param: 'stream' });
      }
      return reply(JSON_TYPE, whole(response));
    },
  };
}

/** An echo needs all fields of the body, also those that a large body is parsed without. */
function wholeOf({ body, parsed }: TextCall): TextCall['parsed'] {
  return body.length > MAX_PARSED_BYTES ? JSON.parse(Buffer.from(body).toString('utf8')) : parsed;
}

function asksForUsage({ stream_options: options }: Readonly<Record<string, unknown>>): boolean {
  return (
    typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage === true
  );
}

async function* whole(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
