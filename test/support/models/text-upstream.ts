/** A local server in OpenAI's text formats. */

import type { ServerResponse } from 'node:http';
import { extendOrigin, type OriginServer, startOrigin } from '../links/origin-server.js';
import { type OpenaiError, openaiError } from './openai-error.js';
import { answerTo, type ModelAnswer, type ModelOptions } from './text-answer.js';
import { chatCompletion, chatEvents, type UsagePlace } from './text-chat-format.js';
import { type Content, type Delivery, deliver, jsonContent, type Oddity, streamContent } from './text-delivery.js';
import { finalStatus, type ResponsesEnd, responseObject, responsesEvents } from './text-responses-format.js';
import { embeddingsAnswer, moderationsAnswer } from './text-upstream-embeddings.js';
import { readTextRequest, type TextUpstreamRequest } from './text-upstream-request.js';
import { createStoredResponses, taskAnswer } from './text-upstream-responses.js';

export type { Content, Delivery, Oddity, Place } from './text-delivery.js';
export type { RequestEnd, TextUpstreamRequest } from './text-upstream-request.js';

/** What the upstream does with one request for text. */
export type TextUpstreamAnswer =
  /** An answer of the model, in the format and the form that was asked for. */
  | ({ does: 'answer' } & Delivery & ModelOptions & FormatOptions)
  | ({ does: 'error' } & OpenaiError & Pick<Delivery, 'delayMs'>)
  /** These bytes, whatever was asked for. */
  | ({ does: 'bytes'; bytes: string | Buffer; contentType: string; status?: number } & Delivery);

export interface FormatOptions {
  /** Default `asked`: as the vendor does. In the responses format there is only `never` besides. */
  usage?: UsagePlace;
  odd?: readonly Oddity[];
  obfuscation?: boolean;
  /** How a stream of the responses format ends. */
  end?: ResponsesEnd;
  /** Header fields of the answer. */
  headers?: Readonly<Record<string, string>>;
}

export type TextUpstreamBehaviour =
  | readonly TextUpstreamAnswer[]
  | ((request: TextUpstreamRequest) => TextUpstreamAnswer);

/** A server on loopback that speaks both text formats of the vendor, faults and rare forms included. */
export interface TextUpstream extends OriginServer {
  /** To be given as `url` of an upstream. */
  readonly baseUrl: string;
  /** In the order they came, those that were refused included; without those for the list of models, which each start sends. */
  readonly requests: readonly TextUpstreamRequest[];
  /** How many responses are stored. */
  readonly stored: number;
  /** Resolves with the next request that comes. */
  next(): Promise<TextUpstreamRequest>;
  /** From the next request on; a list is used up one by one, and then there are plain answers again. */
  behave(behaviour: TextUpstreamBehaviour): void;
  /** Ends what is made in the background: `completed`, `incomplete` with usage; others without. */
  endBackground(status: string): void;
  /** Forgets requests, stored responses and behaviour. */
  reset(): void;
}

export interface TextUpstreamOptions {
  /** Requests without it are answered with 401. Default: none is needed. */
  apiKey?: string;
  /** Models it knows. Default: any. */
  models?: readonly string[];
}

const ANSWER: TextUpstreamAnswer = { does: 'answer' };
/** What has no text of a model for an answer. */
const READING: Readonly<Record<string, typeof embeddingsAnswer>> = {
  '/v1/embeddings': embeddingsAnswer,
  '/v1/moderations': moderationsAnswer,
};
const TASK = /^\/v1\/responses\/(compact|input_tokens)$/;
/** As the vendor sends them; some of them are nobody's business. */
const HEADERS = {
  'x-request-id': 'req_0a1b2c3d4e5f',
  'openai-organization': 'org-of-the-operator',
  'openai-processing-ms': '12',
  'openai-version': '2020-10-01',
  'x-ratelimit-remaining-requests': '9999',
  'set-cookie': '__cf_bm=cookie-of-the-upstream; path=/; HttpOnly',
};

export async function startTextUpstream(options: TextUpstreamOptions = {}): Promise<TextUpstream> {
  const stored = createStoredResponses();
  const waiting: ((request: TextUpstreamRequest) => void)[] = [];
  let requests: TextUpstreamRequest[] = [];
  let behaviour: TextUpstreamBehaviour = [];
  let used = 0;
  let answers = 0;

  const choose = (request: TextUpstreamRequest) =>
    typeof behaviour === 'function' ? behaviour(request) : (behaviour[used++] ?? ANSWER);

  function contentOf(request: TextUpstreamRequest, chosen: FormatOptions, answer: ModelAnswer): Content {
    const { path, members } = request;
    const { usage = 'asked', odd = [], obfuscation = false, end = 'regular' } = chosen;
    const isChat = path === '/v1/chat/completions';
    if (members.stream !== true) {
      const status = members.background === true ? 'queued' : finalStatus(answer);
      const whole = isChat ? chatCompletion(answer, usage) : responseObject(answer, members, status, usage !== 'never');
      return jsonContent(whole, odd.includes('loose_json'));
    }
    const streamOptions = members.stream_options as { include_usage?: boolean } | undefined;
    const includeUsage = streamOptions?.include_usage === true;
    const events = isChat
      ? chatEvents(answer, { usage, includeUsage, obfuscation })
      : responsesEvents(answer, members, { end, withUsage: usage !== 'never', obfuscation });
    return streamContent(events, odd);
  }

  async function answerText(request: TextUpstreamRequest, response: ServerResponse): Promise<void> {
    const chosen = choose(request);
    if (chosen.does === 'error') {
      if (chosen.delayMs) await new Promise((done) => setTimeout(done, chosen.delayMs));
      return sendError(response, chosen);
    }
    if (chosen.does === 'bytes') {
      const bytes = Buffer.from(chosen.bytes as Buffer);
      request.content = { contentType: chosen.contentType, bytes, boundaries: [bytes.length] };
      return deliver(response, request.content, chosen, { status: chosen.status ?? 200, headers: HEADERS });
    }
    const { members } = request;
    const { previous_response_id: previous } = members;
    if (typeof previous === 'string' && !stored.has(previous)) {
      const message = `Previous response with id '${previous}' not found.`;
      const param = 'previous_response_id';
      return sendError(response, { status: 400, code: 'previous_response_not_found', param, message });
    }
    const read = READING[request.path]?.(members);
    if (read) {
      request.content = jsonContent(read.body);
      request.usage = read.usage;
      return deliver(response, request.content, chosen, { status: 200, headers: HEADERS });
    }
    const answer = answerTo(members, chosen, ++answers);
    const task = TASK.exec(request.path)?.[1] as 'compact' | 'input_tokens' | undefined;
    request.content = task ? jsonContent(taskAnswer(task, answer, members)) : contentOf(request, chosen, answer);
    request.usage = answer.usage;
    if (request.path === '/v1/responses') {
      stored.keep(answer, members, members.background === true ? 'in_progress' : finalStatus(answer));
    }
    await deliver(response, request.content, chosen, { status: 200, headers: { ...HEADERS, ...chosen.headers } });
  }

  async function answerAny(request: TextUpstreamRequest, response: ServerResponse): Promise<void> {
    const fault = faultOf(request, options);
    if (fault) return sendError(response, fault);
    if (
      request.method === 'POST' &&
      /^\/v1\/(?:embeddings|moderations|chat\/completions|responses(?:\/compact|\/input_tokens)?)$/.test(request.path)
    ) {
      return answerText(request, response);
    }
    if (request.path === '/v1/models') return sendJson(response, modelList(options.models ?? []));
    const resumed = stored.events(request);
    if (resumed) {
      const chosen = choose(request);
      return deliver(response, streamContent(resumed), chosen.does === 'answer' ? chosen : {}, {
        status: 200,
        headers: HEADERS,
      });
    }
    const other = stored.answer(request) ?? { status: 404, message: `Invalid URL (${request.method} ${request.path})` };
    if (isError(other)) sendError(response, other);
    else sendJson(response, other);
  }

  const origin = await startOrigin((incoming, response) => {
    readTextRequest(incoming, response)
      .then((request) => {
        if (request.path === '/v1/models') return answerAny(request, response);
        requests.push(request);
        for (const take of waiting.splice(0)) take(request);
        return answerAny(request, response);
      })
      // A client that left in the middle of its request.
      .catch(() => response.destroy());
  });

  return extendOrigin<TextUpstream>(origin, {
    baseUrl: `${origin.origin}/v1`,
    get requests() {
      return requests;
    },
    get stored() {
      return stored.size;
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
    behave(next) {
      behaviour = next;
      used = 0;
    },
    endBackground: (status) => stored.end(status),
    reset() {
      requests = [];
      stored.clear();
      behaviour = [];
      used = 0;
      answers = 0;
    },
  });
}

function isError(answer: object | OpenaiError): answer is OpenaiError {
  return 'message' in answer && typeof (answer as { status?: unknown }).status === 'number';
}

function sendError(response: ServerResponse, error: OpenaiError): void {
  const { status, headers, body } = openaiError(error);
  const length = Buffer.byteLength(body);
  response.writeHead(status, { ...HEADERS, 'content-length': length, ...headers }).end(body);
}

function sendJson(response: ServerResponse, value: object): void {
  const { contentType, bytes } = jsonContent(value);
  response.writeHead(200, { ...HEADERS, 'content-type': contentType, 'content-length': bytes.length }).end(bytes);
}

function modelList(ids: readonly string[]): object {
  const data = ids.map((id) => ({ id, object: 'model', created: 1_760_000_000, owned_by: 'system' }));
  return { object: 'list', data };
}

/** What the vendor says to a request that is wrong; undefined to one that is not. */
function faultOf(
  { method, path, headers, members }: TextUpstreamRequest,
  expected: { apiKey?: string; models?: readonly string[] },
): OpenaiError | undefined {
  if (expected.apiKey !== undefined && headers.authorization !== `Bearer ${expected.apiKey}`) {
    const message = `Incorrect API key provided: ${headers.authorization?.slice(7)}. You can find yours in your account.`;
    return { status: 401, code: 'invalid_api_key', message };
  }
  if (method !== 'POST' || path.endsWith('/cancel')) return undefined;
  const missing = (param: string) => ({
    status: 400,
    code: 'missing_required_parameter',
    param,
    message: `Missing required parameter: '${param}'.`,
  });
  if (members.model === undefined) return missing('model');
  if (expected.models && !expected.models.includes(String(members.model))) {
    const message = `The model \`${members.model}\` does not exist or you do not have access to it.`;
    return { status: 404, code: 'model_not_found', message };
  }
  if (path.endsWith('/chat/completions') && members.messages === undefined) return missing('messages');
  return undefined;
}
