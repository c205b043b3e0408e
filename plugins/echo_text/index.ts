/*
 * The mock text model, for gateways without a model. It repeats the last message in chats and responses, streamed or
 * whole, with exact token counts and a mark that says that it is an echo. Responses are stored in memory up to 4 MiB of
 * text, the oldest are dropped first, and all are lost when the process ends. A large body is parsed again, since the
 * gateway parses only some of its fields. No request leaves the process.
 */

import {
  definePlugin,
  GatewayError,
  type PluginContext,
  REASONING_EFFORTS,
  type Static,
  type StoredResponseCall,
  type TextCall,
  type TextProvider,
  type TextReply,
  Type,
} from 'mediagate/plugin';
import {
  chatCompletion,
  chatEvents,
  createEcho,
  type Echo,
  finishedResponse,
  readConversation,
  responseEvents,
  responseIdOf,
} from './echo.js';

const OptionsSchema = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'Public name of the mock model.' }),
    efforts: Type.Array(Type.String({ minLength: 1 }), {
      default: [...REASONING_EFFORTS],
      description: 'Reasoning efforts that clients may ask for; they have no effect.',
    }),
    paceMs: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      default: 5,
      description: 'Milliseconds between two tokens of a stream.',
    }),
  },
  { additionalProperties: false },
);

export type Options = Static<typeof OptionsSchema>;

/** The caller's own words back, in both formats; no model has a part in them. */
export default definePlugin<typeof OptionsSchema>({
  name: 'echo_text',
  apiVersion: 1,
  summary: 'Mock text model: repeats the last message, marked as an echo, in both formats, with exact usage.',
  provides: ['text'],
  standIn: true,
  options: OptionsSchema,
  setup: (context) => ({ textProviders: [createEchoProvider(context)] }),
});

/** 20,000 values, above which fields may be missing, take at least so many bytes. */
const MAX_PARSED_BYTES = 40_000;
const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream; charset=utf-8';

function createEchoProvider({ options, clock }: PluginContext<Options>): TextProvider {
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
      const earlierTokens = isResponse ? tokensBefore(kept, parsed.previous_response_id) : 0;
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

/** Tokens of the conversation that the response with this id ends. */
function tokensBefore(kept: ReturnType<typeof createKeptResponses>, id: unknown): number {
  if (typeof id !== 'string') return 0;
  const earlier = kept.find(id);
  if (earlier) return earlier.tokens;
  const param = 'previous_response_id';
  throw new GatewayError('previous_response_not_found', 'There is no such response to continue.', { param });
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

/** A response that can be asked for. */
interface KeptResponse {
  id: string;
  /** JSON of it. */
  response: string;
  /** JSON of the list of what it answered. */
  input: string;
  /** Said in it and before it. */
  tokens: number;
}

/** UTF-16 code units of all that is kept. */
const MOST_TEXT = 4 * 1024 * 1024;

/** Responses of this process, the newest ones. */
function createKeptResponses() {
  const all = new Map<string, KeptResponse>();
  let length = 0;
  const lengthOf = ({ response, input }: KeptResponse) => response.length + input.length;

  function remove(kept: KeptResponse): void {
    if (all.delete(kept.id)) length -= lengthOf(kept);
  }

  return {
    add(kept: KeptResponse): void {
      all.set(kept.id, kept);
      length += lengthOf(kept);
      for (const oldest of all.values()) {
        if (length <= MOST_TEXT) break;
        remove(oldest);
      }
    },
    find: (id: string) => all.get(id),
    /** @throws GatewayError `response_not_found` */
    get(id: string): KeptResponse {
      const kept = all.get(id);
      if (kept) return kept;
      const message = 'There is no such response. The mock keeps responses only while it runs.';
      throw new GatewayError('response_not_found', message);
    },
    delete(id: string): void {
      const kept = all.get(id);
      if (kept) remove(kept);
    },
  };
}
