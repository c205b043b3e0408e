/*
 * Serves images from servers of the OpenAI images format, with fail-over. A call goes only to upstreams that take its
 * number of references. An answer may be JSON or a stream of events, and it holds the image or its address. A download
 * sends no credentials, follows three redirects, and is tried three times; an address of another configured upstream is
 * refused. After a lost answer another upstream is not asked, because the image may have been made and paid for.
 * Settings that an upstream does not take become warnings.
 */

import {
  askUpstream,
  at,
  bearerToken,
  checkModelList,
  createUpstreams,
  definePlugin,
  GatewayError,
  type GeneratedImage,
  type HttpStream,
  type ImageCall,
  type ImageProvider,
  type ImageWarning,
  isGatewayError,
  openaiUsage,
  type PluginContext,
  TRUST,
  TryFailure,
  type UpstreamRefusal,
  UpstreamWeights,
  uselessAnswer,
} from 'mediagate/plugin';
import { AnswerScan, eventsOf, type FoundImage, findImage, findSeed, imageType, type ScannedAnswer } from './answer.js';
import {
  afterLostAnswer,
  askedSize,
  encodeRequest,
  type Options,
  OptionsSchema,
  refusalFailure,
  SETTINGS,
  takenBy,
  type Upstream,
} from './requests.js';

/** Images from any server of the OpenAI images format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'openai_image',
  apiVersion: 1,
  summary: 'Images from servers of the OpenAI images format: text to image, up to four references, fail-over.',
  provides: ['image'],
  options: OptionsSchema,
  setup: (context) => ({
    imageProviders: [createOpenaiImageProvider(context)],
    async checkUpstreams({ signal }) {
      const { upstreams, models } = context.options;
      const checks = upstreams.map(({ url, apiKey, model }, index) =>
        checkModelList({
          context,
          upstream: `upstreams.${index}`,
          url,
          headers: bearerToken(apiKey),
          models: models.map((id) => ({ id, upstreamModel: model })),
          signal,
        }),
      );
      return (await Promise.all(checks)).flat();
    },
  }),
});

/** Base64 of an image, and room for the JSON around it. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** An upstream with its name in the log. */
type Member = Upstream & { member: string; weight: number };

function createOpenaiImageProvider(context: PluginContext<Options>): ImageProvider {
  const { options, clock, hints, logger } = context;
  const { models, budgetMs, restMs } = options;
  const upstreams = options.upstreams.map((one, index) => ({ ...one, member: `upstreams.${index}`, weight: 1 }));
  // The first one that works gets all requests, until an operator weighs them.
  const weights = new Map(models.map((id) => [id, new UpstreamWeights<Member>({ isOrdered: true })]));
  const weightOf = (upstream: Member, model = '') => weights.get(model)?.of(upstream);
  const all = createUpstreams({ upstreams, clock, hints, logger, budgetMs, restMs, weightOf });

  async function ask(call: ImageCall, upstream: Upstream, remainingMs: number): Promise<GeneratedImage> {
    const { signal, idempotencyKey } = call;
    const { url, apiKey } = upstream;
    const end = clock.monotonic() + remainingMs;
    const { size, warning } = askedSize(call.size, upstream);
    const warnings = [...(warning ? [warning] : []), ...leftOut(call, upstream)];
    const { path, contentType, body } = encodeRequest(call, upstream, size);
    const headers = {
      'content-type': contentType,
      accept: call.partials ? 'text/event-stream, application/json' : 'application/json',
      ...bearerToken(apiKey),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const request = { url, path, headers, body, signal, timeoutMs: remainingMs, maxBytes: MAX_ANSWER_BYTES };
    const refuse = (refusal: UpstreamRefusal) => refusalFailure(refusal, call, upstream, clock.now());
    const response = await askUpstream(context, request, refuse);
    const answer = isEventStream(response) ? await readEvents(response, call, refuse) : await readAnswer(response);
    if (answer === undefined) throw uselessAnswer('The upstream answered with something that is not JSON.');
    const found = findImage(answer);
    if (!found) throw uselessAnswer('The upstream answered without a usable image.');
    const bytes = await bytesOf(context, found, { call, upstream, end });
    const type = imageType(bytes);
    if (!type) throw uselessAnswer('The upstream answered with something that is not an image.');
    const usage = openaiUsage(answer.json);
    const seed = findSeed(answer);
    return {
      bytes,
      contentType: type,
      ...(warnings.length > 0 && { warnings }),
      ...(usage && { usage }),
      ...(seed !== undefined && { seed }),
    };
  }

  const maxReferences = Math.max(...upstreams.map((upstream) => upstream.maxReferences));
  const takes = [...new Set(upstreams.flatMap(takenBy))];

  return {
    models: Array.from(weights, ([id, own]) => ({
      id,
      upstreams: upstreams.map((upstream) => own.describe(upstream)),
      maxReferences,
      takesMask: maxReferences > 0,
      takes,
      formats: ['png', 'jpeg', 'webp'],
    })),
    upstreams: () => all.states(),
    weigh: (model, changed) => weights.get(model)?.change(changed),
    async generate(call) {
      call.signal.throwIfAborted();
      const suits = (upstream: Upstream) => call.references.length <= upstream.maxReferences;
      if (!upstreams.some(suits)) {
        const message = `The model takes at most ${maxReferences} reference images.`;
        throw new GatewayError('too_many_images', message, { param: 'image' });
      }
      if (call.mask && call.references.length === 0) {
        throw new GatewayError('invalid_value', 'A mask needs a reference image.', { param: 'mask' });
      }
      return all.run({
        model: call.model,
        signal: call.signal,
        suits,
        lost: (upstream) => afterLostAnswer(call, upstream),
        ask: (upstream, remainingMs) => ask(call, upstream, remainingMs),
      });
    },
  };
}

async function bytesOf(
  context: PluginContext<Options>,
  found: FoundImage,
  { call, upstream, end }: { call: ImageCall; upstream: Upstream; end: number },
): Promise<Uint8Array> {
  if ('bytes' in found) {
    if (found.bytes.length > MAX_IMAGE_BYTES) throw uselessAnswer('The image of the upstream is too large.');
    return found.bytes;
  }
  try {
    return await downloadImage({ context, url: found.url, upstream, signal: call.signal, end });
  } catch (error) {
    if (call.signal.aborted || !isGatewayError(error)) throw error;
    throw new TryFailure(error, { again: 'nowhere', counts: true });
  }
}

function isEventStream({ headers }: HttpStream): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
}

/**
 * The event with the image, once the partial images before it were shown. Undefined where an event is not JSON.
 * @throws TryFailure for an event that is an error.
 */
async function readEvents(
  { body }: HttpStream,
  { partials }: ImageCall,
  refuse: (refusal: UpstreamRefusal) => TryFailure,
): Promise<ScannedAnswer | undefined> {
  try {
    for await (const event of eventsOf(body)) {
      const { json } = event;
      const error = at(json, 'error');
      if (error) {
        const status = at(error, 'type') === 'image_generation_user_error' || at(error, 'param') ? 400 : 500;
        throw refuse({ status, headers: {}, json });
      }
      const type = String(at(json, 'type'));
      if (type.endsWith('.completed')) return event;
      const found = type.endsWith('.partial_image') ? findImage(event) : undefined;
      const contentType = found && 'bytes' in found ? imageType(found.bytes) : undefined;
      if (found && 'bytes' in found && contentType) partials?.show({ bytes: found.bytes, contentType });
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  throw uselessAnswer('The stream of the upstream ended without an image.');
}

/** Undefined where it is not JSON. */
async function readAnswer({ body }: HttpStream): Promise<ScannedAnswer | undefined> {
  const scan = new AnswerScan();
  try {
    for await (const chunk of body) scan.push(chunk);
    return scan.end();
  } catch (error) {
    // The parser's own error quotes the text, and no log shall hold an upstream's body.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Largest image taken from an upstream, in bytes. */
const MAX_IMAGE_BYTES = 48 * 1024 * 1024;

const MAX_REDIRECTS = 3;
/** A file may be announced a moment before it is there. Milliseconds before each further try. */
const PAUSES = [250, 1_000];

interface Download {
  context: Pick<PluginContext<Options>, 'http' | 'clock' | 'options'>;
  /** As the upstream gave it. */
  url: string;
  upstream: Upstream;
  signal: AbortSignal;
  /** Monotonic milliseconds by which it must be done. */
  end: number;
}

/**
 * An image that an upstream made and laid somewhere. It is there already, so asking again costs nothing.
 * @throws GatewayError `upstream_changed` for an address that is not https, `upstream_*` where it cannot be had.
 */
async function downloadImage(download: Download): Promise<Uint8Array> {
  const { context, upstream, signal, end } = download;
  const url = URL.parse(download.url);
  // No credentials go there, and the guard looks at the address; an upstream without TLS may serve its own files so.
  const isOwn = url?.origin === new URL(upstream.url).origin;
  // What the operator trusts as another upstream is not this one's to name.
  const isOthers = context.options.upstreams.some((other) => new URL(other.url).origin === url?.origin);
  if (!url || (!isOwn && (url.protocol !== 'https:' || isOthers))) {
    throw new GatewayError('upstream_changed', 'The upstream gave an image address that is not allowed.');
  }
  for (let tries = 0; ; tries++) {
    const outcome = await fetchOnce(url, download);
    if (outcome instanceof Uint8Array) return outcome;
    const pause = PAUSES[tries];
    if (pause === undefined || context.clock.monotonic() + pause >= end) throw outcome;
    await context.clock.sleep(pause, signal);
  }
}

async function fetchOnce(url: URL, { context, signal, end }: Download): Promise<Uint8Array | GatewayError> {
  try {
    const { status, body } = await context.http.request({
      url,
      signal,
      timeoutMs: Math.max(1, end - context.clock.monotonic()),
      maxBytes: MAX_IMAGE_BYTES,
      maxRedirects: MAX_REDIRECTS,
    });
    if (status === 200) return body;
    return new GatewayError('upstream_error', `The image of the upstream could not be fetched (status ${status}).`);
  } catch (error) {
    if (signal.aborted || !isGatewayError(error)) throw error;
    if (error.code === 'upstream_refused') {
      const message = `The image address of the upstream is refused. ${error.message} ${TRUST}`;
      throw new GatewayError('upstream_refused', message, { retryable: false, cause: error });
    }
    if (!error.retryable) throw error;
    return error;
  }
}

/** Settings that another upstream of the provider takes. */
function leftOut({ options }: ImageCall, upstream: Upstream): ImageWarning[] {
  const taken = takenBy(upstream);
  const missing = SETTINGS.filter((name) => options[name] !== undefined && !taken.includes(name));
  return missing.map((setting) => ({ setting, details: 'the upstream does not take it' }));
}
