/*
 * Servers on loopback that answer as Ollama, vLLM, llama.cpp and LM Studio do, with their habits: fields of their own, what
 * they call the thoughts of a model, how tool calls come in a stream, and what they say to a path or model that they do not
 * have. None of them has the responses format here.
 */

import type { ServerResponse } from 'node:http';
import { extendOrigin, type OriginServer, startOrigin } from '../links/origin-server.js';
import { readTextRequest, type TextUpstreamRequest } from './text-upstream-request.js';

export type LocalServerKind = 'ollama' | 'vllm' | 'llamacpp' | 'lmstudio';

export interface LocalServer extends OriginServer {
  readonly baseUrl: string;
  /** Its name of the model. */
  readonly model: string;
  readonly requests: readonly TextUpstreamRequest[];
  /** Whether it answers 503 as while it loads its model; llama.cpp only. */
  loading: boolean;
  /** From now on it breaks off each stream after this many events. */
  breakAfter: number | undefined;
  /** From now on each stream stays open, and silent, after this many events. */
  stallAfter: number | undefined;
  /** Each chat is refused with 400 and this error. */
  refusal: Fields | undefined;
  reset(): void;
}

type Fields = Readonly<Record<string, unknown>>;

interface Habits {
  model: string;
  list: Fields;
  thoughts: 'reasoning' | 'reasoning_content';
  /** Fields of each answer and event. */
  own: Fields;
  /** Fields of the last one. */
  last: Fields;
  toolId: string;
  /** Whether the arguments of a tool call come at once. */
  wholeCalls: boolean;
  takesAnyModel: boolean;
  noPath(method: string, path: string): { status: number; text: string };
  noModel(model: unknown): { status: number; body: Fields };
}

const TIMINGS = { prompt_n: 12, prompt_ms: 30.1, predicted_n: 5, predicted_ms: 80.2, predicted_per_second: 62.3 };

const HABITS: Readonly<Record<LocalServerKind, Habits>> = {
  ollama: {
    model: 'llama3.2:latest',
    list: {
      object: 'list',
      data: [{ id: 'llama3.2:latest', object: 'model', created: 1_760_000_000, owned_by: 'library' }],
    },
    thoughts: 'reasoning',
    own: { system_fingerprint: 'fp_ollama' },
    last: {},
    toolId: 'call_hk81qg8b',
    wholeCalls: true,
    takesAnyModel: false,
    noPath: () => ({ status: 404, text: '404 page not found' }),
    noModel: (model) => ({
      status: 404,
      body: {
        error: {
          message: `model "${model}" not found, try pulling it first`,
          type: 'api_error',
          param: null,
          code: null,
        },
      },
    }),
  },
  vllm: {
    model: 'Qwen/Qwen3-8B',
    list: {
      object: 'list',
      data: [
        {
          id: 'Qwen/Qwen3-8B',
          object: 'model',
          owned_by: 'vllm',
          root: 'Qwen/Qwen3-8B',
          parent: null,
          max_model_len: 40_960,
        },
      ],
    },
    thoughts: 'reasoning_content',
    own: { prompt_logprobs: null, kv_transfer_params: null },
    last: {},
    toolId: 'chatcmpl-tool-0c1f2e3d4b5a',
    wholeCalls: false,
    takesAnyModel: false,
    noPath: () => ({ status: 404, text: '{"detail":"Not Found"}' }),
    noModel: (model) => ({
      status: 404,
      body: {
        object: 'error',
        message: `The model \`${model}\` does not exist.`,
        type: 'NotFoundError',
        param: null,
        code: 404,
      },
    }),
  },
  llamacpp: {
    model: '/models/qwen3-8b.gguf',
    list: {
      models: [{ name: '/models/qwen3-8b.gguf', model: '/models/qwen3-8b.gguf' }],
      object: 'list',
      data: [{ id: '/models/qwen3-8b.gguf', object: 'model', owned_by: 'llamacpp', meta: { n_ctx_train: 40_960 } }],
    },
    thoughts: 'reasoning_content',
    own: { system_fingerprint: 'b6881-8b11deea4' },
    last: { timings: TIMINGS },
    toolId: '',
    wholeCalls: false,
    takesAnyModel: true,
    noPath: () => ({ status: 404, text: '{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}' }),
    noModel: () => ({ status: 500, body: {} }),
  },
  lmstudio: {
    model: 'qwen/qwen3-8b',
    list: { data: [{ id: 'qwen/qwen3-8b', object: 'model', owned_by: 'organization_owner' }], object: 'list' },
    thoughts: 'reasoning_content',
    own: { system_fingerprint: 'qwen/qwen3-8b', stats: {} },
    last: {},
    toolId: '917364520',
    wholeCalls: false,
    takesAnyModel: false,
    noPath: (method, path) => ({ status: 200, text: `{"error":"Unexpected endpoint or method. (${method} ${path})"}` }),
    noModel: (model) => ({
      status: 404,
      body: {
        error: {
          message: `Model "${model}" not found`,
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      },
    }),
  },
};

const USAGE = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
export const THOUGHT = 'A harbour town.';
export const PIECES = ['Ostend ', 'is by ', 'the sea.'] as const;

export async function startLocalServer(kind: LocalServerKind): Promise<LocalServer> {
  const habits = HABITS[kind];
  let requests: TextUpstreamRequest[] = [];
  const state = {
    loading: false,
    stallAfter: undefined as number | undefined,
    breakAfter: undefined as number | undefined,
    refusal: undefined as Fields | undefined,
  };

  function answer(request: TextUpstreamRequest, response: ServerResponse): unknown {
    const { method, path, members } = request;
    const sendJson = (status: number, body: Fields) =>
      send(response, status, 'application/json; charset=utf-8', JSON.stringify(body));
    if (state.loading) {
      const error = { code: 503, message: 'Loading model', type: 'unavailable_error' };
      return sendJson(503, { error });
    }
    if (method === 'GET' && path === '/v1/models') return sendJson(200, habits.list);
    if (method !== 'POST' || !/^\/v1\/(?:chat\/completions|embeddings)$/.test(path)) {
      const { status, text } = habits.noPath(method, path);
      return send(response, status, text.startsWith('{') ? 'application/json; charset=utf-8' : 'text/plain', text);
    }
    if (!habits.takesAnyModel && members.model !== habits.model) {
      const { status, body } = habits.noModel(members.model);
      return sendJson(status, body);
    }
    if (path === '/v1/embeddings') {
      const data = [{ object: 'embedding', index: 0, embedding: [0.25, -0.5] }];
      return sendJson(200, { object: 'list', data, model: habits.model, usage: { prompt_tokens: 4, total_tokens: 4 } });
    }
    if (state.refusal) return sendJson(400, { error: state.refusal });
    if (members.stream !== true) return sendJson(200, completionOf(habits, members));
    const events = eventsOf(habits, members).map((event) => `data: ${JSON.stringify(event)}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (state.stallAfter !== undefined) return response.write(events.slice(0, state.stallAfter).join(''));
    if (state.breakAfter !== undefined) {
      response.write(events.slice(0, state.breakAfter).join(''), () => response.destroy());
      return;
    }
    response.end(`${events.join('')}data: [DONE]\n\n`);
  }

  const origin = await startOrigin((incoming, response) => {
    readTextRequest(incoming, response).then((request) => {
      if (request.path !== '/v1/models') requests.push(request);
      answer(request, response);
    });
  });
  return extendOrigin<LocalServer>(origin, {
    baseUrl: `${origin.origin}/v1`,
    model: habits.model,
    get requests() {
      return requests;
    },
    get loading() {
      return state.loading;
    },
    set loading(value) {
      state.loading = value;
    },
    get breakAfter() {
      return state.breakAfter;
    },
    set breakAfter(value) {
      state.breakAfter = value;
    },
    get stallAfter() {
      return state.stallAfter;
    },
    set stallAfter(value) {
      state.stallAfter = value;
    },
    get refusal() {
      return state.refusal;
    },
    set refusal(value) {
      state.refusal = value;
    },
    reset() {
      requests = [];
      state.refusal = undefined;
      state.stallAfter = undefined;
      state.loading = false;
      state.breakAfter = undefined;
    },
  });
}

function send(response: ServerResponse, status: number, contentType: string, text: string): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }).end(text);
}

/** A tool is called where there are tools and no output of one yet; JSON is written where a schema is given. */
function workOf(members: Fields): { call?: { name: string; args: string }; pieces: readonly string[] } {
  const tools = (members.tools ?? []) as { function: { name: string; parameters?: { properties?: object } } }[];
  const messages = (members.messages ?? []) as { role: string }[];
  const [first] = tools;
  if (first && !messages.some(({ role }) => role === 'tool')) {
    const field = Object.keys(first.function.parameters?.properties ?? {})[0] ?? 'place';
    return { call: { name: first.function.name, args: JSON.stringify({ [field]: 'Ostend' }) }, pieces: [] };
  }
  return { pieces: members.response_format ? ['{"town":', '"Ostend"}'] : PIECES };
}

const headOf = (habits: Habits, object: string) => ({
  id: 'chatcmpl-218',
  object,
  created: 1_760_000_123,
  model: habits.model,
  ...habits.own,
});

function completionOf(habits: Habits, members: Fields): Fields {
  const { call, pieces } = workOf(members);
  const message = {
    role: 'assistant',
    content: call ? null : pieces.join(''),
    [habits.thoughts]: THOUGHT,
    ...(call && {
      tool_calls: [
        { id: habits.toolId, index: 0, type: 'function', function: { name: call.name, arguments: call.args } },
      ],
    }),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishOf(members, call !== undefined) };
  return { ...headOf(habits, 'chat.completion'), choices: [choice], usage: USAGE, ...habits.last };
}

function eventsOf(habits: Habits, members: Fields): Fields[] {
  const { call, pieces } = workOf(members);
  const head = headOf(habits, 'chat.completion.chunk');
  const delta = (change: Fields, finish: string | null = null): Fields => ({
    ...head,
    choices: [{ index: 0, delta: change, logprobs: null, finish_reason: finish }],
  });
  const called = (change: Fields) => delta({ tool_calls: [{ index: 0, ...change }] });
  const half = call ? Math.ceil(call.args.length / 2) : 0;
  const calls = call
    ? habits.wholeCalls
      ? [called({ id: habits.toolId, type: 'function', function: { name: call.name, arguments: call.args } })]
      : [
          called({ id: habits.toolId, type: 'function', function: { name: call.name, arguments: '' } }),
          called({ function: { arguments: call.args.slice(0, half) } }),
          called({ function: { arguments: call.args.slice(half) } }),
        ]
    : [];
  const wantsUsage = (members.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true;
  return [
    delta({ role: 'assistant', content: null }),
    delta({ [habits.thoughts]: THOUGHT }),
    ...pieces.map((content) => delta({ role: 'assistant', content })),
    ...calls,
    { ...delta({}, finishOf(members, call !== undefined)), ...(wantsUsage ? {} : habits.last) },
    ...(wantsUsage ? [{ ...head, choices: [], usage: USAGE, ...habits.last }] : []),
  ];
}

function finishOf({ max_tokens: limit }: Fields, isCall: boolean): string {
  if (isCall) return 'tool_calls';
  return typeof limit === 'number' && limit < 5 ? 'length' : 'stop';
}
