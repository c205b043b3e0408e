import {
  bearerToken,
  type Clock,
  checkModelList,
  createUpstreams,
  definePlugin,
  GatewayError,
  type HttpStream,
  type PluginContext,
  type ResponsesTask,
  readRefusal,
  resumeBody,
  type TextProvider,
  type TextReply,
  type TextRoute,
  TryFailure,
  type UpstreamCall,
  type UpstreamCheck,
  type Upstreams,
  withoutNames,
} from 'mediagate/plugin';
import {
  modelsOf,
  type Options,
  OptionsSchema,
  refusalFailure,
  type ServedModel,
  storedFailure,
  storedRequest,
  taskFailure,
  textRequest,
  type Upstream,
  upstreamsOf,
  type WireRequest,
} from './upstream.js';

/** Text from any server of the OpenAI chat-completions or responses format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'openai_text',
  apiVersion: 1,
  summary:
    'Text from servers of the OpenAI chat-completions and responses formats: one or several models, weights, fail-over.',
  provides: ['text'],
  options: OptionsSchema,
  setup: (context) => ({
    textProviders: modelsOf(context.options).map((model) => createOpenaiTextProvider(context, model)),
    checkUpstreams: ({ signal }) => checkTextUpstreams(context, signal),
  }),
});

/** As much as one answer may have, pictures in it included; nothing of it is kept. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** A model may think long before its first word, and its client shall see by then that there is an answer. */
const PATIENCE_MS = 2_000;
/** Clients of the format know how to wait, and give up on who keeps them waiting. */
const LONGEST_WAIT_MS = 5_000;
const RETRY_SHARE = 0.2;
const BYTES_PER_TOKEN = 4;
const WRITING: readonly TextRoute[] = ['chat_completions', 'responses'];
const TASKS: readonly ResponsesTask[] = ['compact', 'input_tokens'];
/** What clients of the gateway may want to know; ids, limits and cookies are between the upstream and us. */
const PASSED_FIELDS = ['openai-processing-ms', 'openai-version'];

/** Work for one of the upstreams. */
interface Asked extends Omit<UpstreamCall<Upstream, TextReply>, 'model' | 'ask'> {
  request(upstream: Upstream): WireRequest;
  refuse: typeof refusalFailure;
  /** See {@link startBody}. */
  patienceMs?: number;
  /** Whether events may be none. */
  mayHaveNone?: boolean;
}

function createOpenaiTextProvider(context: PluginContext<Options>, served: ServedModel): TextProvider {
  const { options, http, clock, logger } = context;
  const { maxOutputTokens, outputLimitField, budgetMs, idleMs, restMs } = options;
  const { id: model, routes: wanted = WRITING } = served;
  const upstreams = upstreamsOf(options, served);
  const routes = wanted.filter((route) => upstreams.some((upstream) => upstream.routes.includes(route)));
  if (routes.length === 0) throw new Error(`no upstream has a route of the model ${model}`);
  const isWriting = routes.some((route) => WRITING.includes(route));
  const weightOf = ({ weight }: Upstream) => weight;
  const limits = { budgetMs, restMs, longestWaitMs: LONGEST_WAIT_MS, retryShare: RETRY_SHARE };
  const answering = createUpstreams({ upstreams, clock, logger, weightOf, ...limits });
  // What makes no answer fails, and is limited, by itself: an upstream whose responses cannot be looked at still makes them.
  const looking = createUpstreams({ upstreams, clock, logger, weightOf, ...limits });

  async function ask(asked: Asked, upstream: Upstream, remainingMs: number): Promise<TextReply> {
    const { signal, refuse, patienceMs, mayHaveNone = false } = asked;
    const request = asked.request(upstream);
    const timeoutMs = Math.max(1, remainingMs);
    const response = await http.stream({ ...request, signal, timeoutMs, idleMs, maxBytes: MAX_ANSWER_BYTES });
    const { status, headers } = response;
    if (status < 200 || status > 299) throw refuse(await readRefusal(response, clock), upstream, clock.now());
    if (headers['content-type']?.startsWith('text/html')) throw await somebodysPage(response);
    const mayBeEmpty = mayHaveNone && headers['content-type']?.startsWith('text/event-stream');
    const body = await startBody(response.body, { clock, patienceMs, mayBeEmpty });
    return {
      status,
      headers: passed(headers),
      body,
      upstream: upstream.name,
      upstreamModel: upstream.model,
      plainWords: (words) => withoutNames(words, upstream),
    };
  }

  const run = (all: Upstreams<Upstream>, asked: Asked): Promise<TextReply> =>
    all.run({ ...asked, model, ask: (upstream, remainingMs) => ask(asked, upstream, remainingMs) });

  return {
    upstreams: () => answering.states(),
    tasks: TASKS,
    models: [
      {
        id: model,
        efforts: isWriting ? options.efforts : [],
        routes,
        ...(maxOutputTokens !== undefined && { maxOutputTokens }),
        ...(outputLimitField !== undefined && { outputLimitField }),
      },
    ],
    async send(call) {
      const { route, task, upstream: earlier, stream, signal } = call;
      const suits = ({ routes, name }: Upstream) =>
        routes.includes(route) && (earlier === undefined || name === earlier);
      if (!upstreams.some(suits)) {
        const message = 'The upstream of the earlier response is no longer configured.';
        throw new GatewayError('previous_response_not_found', message, { param: 'previous_response_id' });
      }
      return run(task === 'input_tokens' ? looking : answering, {
        signal,
        tokens: Math.ceil(call.body.length / BYTES_PER_TOKEN),
        suits,
        // Clients of the format ask again by themselves where no answer came.
        lost: 'anywhere',
        request: (upstream) => textRequest(call, upstream),
        refuse: task || !WRITING.includes(route) ? taskFailure : refusalFailure,
        ...(stream && { patienceMs: PATIENCE_MS }),
      });
    },
    async stored(call) {
      const { signal } = call;
      const suits = ({ name }: Upstream) => name === call.upstream;
      if (!upstreams.some(suits)) {
        throw new GatewayError('response_not_found', 'The upstream of this response is no longer configured.');
      }
      return run(looking, {
        signal,
        suits,
        // What is deleted is not there the next time.
        lost: call.action === 'delete' ? 'nowhere' : 'anywhere',
        request: (upstream) => storedRequest(call, upstream),
        refuse: storedFailure,
        patienceMs: PATIENCE_MS,
        // Who resumes a stream behind its last event is told nothing more.
        mayHaveNone: true,
      });
    },
  };
}

function passed(headers: HttpStream['headers']): Record<string, string> {
  const fields: Record<string, string> = { 'content-type': headers['content-type'] ?? 'application/json' };
  for (const name of PASSED_FIELDS) {
    const value = headers[name];
    if (value !== undefined) fields[name] = value;
  }
  return fields;
}

/** What a proxy, or a wrong address, answers with. */
async function somebodysPage({ body }: HttpStream): Promise<TryFailure> {
  await body[Symbol.asyncIterator]().return?.();
  const error = new GatewayError('upstream_changed', 'The upstream answered with an HTML page.');
  return new TryFailure(error, { again: 'elsewhere', counts: true });
}

/** Asks each upstream for its models, all at once. */
async function checkTextUpstreams(context: PluginContext<Options>, signal: AbortSignal): Promise<UpstreamCheck[]> {
  const { options } = context;
  const models = modelsOf(options).map((served) => ({ id: served.id, upstreams: upstreamsOf(options, served) }));
  const checks = options.upstreams.map(({ url, apiKey }, index) =>
    checkModelList({
      context,
      upstream: `upstreams.${index}`,
      url,
      headers: bearerToken(apiKey),
      models: models.map(({ id, upstreams }) => ({ id, upstreamModel: upstreams[index]?.model ?? id })),
      ...(typeof options.models === 'string' && { options: { model: 'models' } }),
      emptyRequest: '/chat/completions',
      signal,
    }),
  );
  return (await Promise.all(checks)).flat();
}

interface StartOptions {
  clock: Clock;
  /** Milliseconds to wait for the first bytes; the reader receives later ones. Default: no limit. */
  patienceMs?: number;
  /** Default false. */
  mayBeEmpty?: boolean;
}

/**
 * A body whose first bytes are here, so that one that never begins can still be had elsewhere.
 * @throws TryFailure where it is empty and may not be; what reading it throws.
 */
async function startBody(
  body: AsyncIterable<Uint8Array>,
  { clock, patienceMs, mayBeEmpty = false }: StartOptions,
): Promise<AsyncIterableIterator<Uint8Array>> {
  const chunks = body[Symbol.asyncIterator]();
  const first = chunks.next();
  const early = patienceMs === undefined ? await first : await within(first, patienceMs, clock);
  if (early?.done && !mayBeEmpty) {
    const error = new GatewayError('upstream_error', 'The upstream answered with an empty body.');
    throw new TryFailure(error, { again: 'anywhere', counts: true });
  }
  return resumeBody(first, chunks);
}

/** Undefined where it takes longer. */
async function within<Result>(work: Promise<Result>, ms: number, clock: Clock): Promise<Result | undefined> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
    // Who reads hears of a failure; who never does shall not end the process with it.
    work.catch(() => undefined);
  }
}
