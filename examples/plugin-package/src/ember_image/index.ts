import {
  asString,
  at,
  blamesCaller,
  definePlugin,
  GatewayError,
  type GeneratedImage,
  type HttpRequest,
  type ImageProvider,
  isGatewayError,
  type PluginContext,
  type Static,
  statusFailure,
  Type,
  tryParseJson,
} from 'mediagate-plugin';

const OptionsSchema = Type.Object(
  {
    /** Base address of the vendor's API. */
    url: Type.String({ default: 'https://api.ember.example/v1', pattern: '^https?://[^?#\\s]+$' }),
    apiKey: Type.String({ minLength: 1 }),
    /** Public name of the model. */
    model: Type.String({ default: 'ember-1', minLength: 1 }),
  },
  { additionalProperties: false },
);

type Context = PluginContext<Static<typeof OptionsSchema>>;

export default definePlugin<typeof OptionsSchema>({
  name: 'ember_image',
  apiVersion: 1,
  summary: 'Images of Ember, an invented vendor that works on tasks.',
  provides: ['image'],
  options: OptionsSchema,
  setup: (context) => ({ imageProviders: [createEmberProvider(context)] }),
});

/** Milliseconds between two polls. */
const POLL_MS = 2_000;
/** Polls in a row that may fail: the task is paid for, and goes on meanwhile. */
const FAILED_POLLS = 5;

function createEmberProvider(context: Context): ImageProvider {
  const { options, clock } = context;
  return {
    models: [{ id: options.model, maxReferences: 0, formats: ['png', 'jpeg', 'webp'] }],
    async generate({ prompt, size, references, options: wanted, signal }) {
      signal.throwIfAborted();
      if (references.length > 0) {
        throw new GatewayError('unsupported_value', 'The model takes no reference images.', { param: 'image' });
      }
      const task = { prompt, format: wanted.output_format, ...(size !== 'auto' && size) };
      const submitted = await ask(context, { url: `${options.url}/tasks`, method: 'POST', body: task, signal });
      const id = asString(at(submitted, 'id'));
      if (id === undefined) throw new GatewayError('upstream_changed', 'The upstream answered without a task.');
      const picture = await waitForTask(context, id, signal);
      const { status, headers, body } = await context.http.request({
        url: picture,
        signal,
        maxBytes: 64 * 1024 * 1024,
      });
      if (status !== 200) throw statusFailure({ status, headers, json: undefined }, clock.now(), 'nowhere').error;
      return readPicture(body);
    },
  };
}

/** Asks for a task until it is done. The signal ends each wait and each request. @returns the address of its picture. */
async function waitForTask(context: Context, id: string, signal: AbortSignal): Promise<string> {
  const url = `${context.options.url}/tasks/${encodeURIComponent(id)}`;
  for (let failures = 0; ; ) {
    await context.clock.sleep(POLL_MS, signal);
    try {
      const task = await ask(context, { url, signal });
      const picture = asString(at(task, 'picture'));
      if (asString(at(task, 'state')) === 'done' && picture !== undefined && URL.canParse(picture)) return picture;
      if (!['waiting', 'running'].includes(asString(at(task, 'state')) ?? '')) throw failureOf(task);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (signal.aborted || !mayPass(error) || failures >= FAILED_POLLS) throw error;
    }
  }
}

const PASSING: ReadonlySet<string> = new Set(['upstream_rate_limited', 'upstream_error', 'upstream_timeout']);

/** Whether the next poll may succeed. */
function mayPass(error: unknown): boolean {
  return isGatewayError(error) && error.retryable && PASSING.has(error.code);
}

/** Of a task that ended without a picture. It is final, so the error may not be taken for that of a poll. */
function failureOf(task: unknown): GatewayError {
  const state = asString(at(task, 'state'));
  if (state === 'refused') {
    return new GatewayError('moderation_blocked', "The request was rejected by the model's safety system.");
  }
  if (state === 'failed') return new GatewayError('upstream_refused', 'The upstream could not make the image.');
  return new GatewayError('upstream_changed', 'The upstream answered without the state of a task.');
}

interface Asked extends Pick<HttpRequest, 'url' | 'method' | 'signal'> {
  /** Sent as JSON. */
  body?: object;
}

async function ask({ http, options, clock }: Context, { body, ...request }: Asked): Promise<unknown> {
  const headers = { authorization: `Bearer ${options.apiKey}`, 'content-type': 'application/json' };
  const response = await http.request({ ...request, headers, ...(body && { body: JSON.stringify(body) }) });
  const json = tryParseJson(response.text());
  if (response.status < 300) return json;
  // The vendor's own words may name its model or a key, so they are not passed on.
  const refusal = { status: response.status, headers: response.headers, json };
  if (blamesCaller(refusal)) throw new GatewayError('invalid_value', 'The model refused the request.');
  throw statusFailure(refusal, clock.now(), 'nowhere').error;
}

function readPicture(body: Uint8Array): GeneratedImage {
  const bytes = Buffer.from(body);
  const start = bytes.toString('latin1', 0, 12);
  const contentType = SIGNATURES.find(([pattern]) => pattern.test(start))?.[1];
  if (!contentType) throw new GatewayError('upstream_changed', 'The upstream answered without a usable image.');
  return { bytes, contentType };
}

const SIGNATURES = [
  [/^.PNG/s, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
] as const;
