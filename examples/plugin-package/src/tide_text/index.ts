import {
  asString,
  at,
  blamesCaller,
  definePlugin,
  GatewayError,
  type PluginContext,
  readRefusal,
  replaceFields,
  resumeBody,
  type Static,
  type TextProvider,
  Type,
  textStatusFailure,
  type UpstreamNames,
  type UpstreamRefusal,
  upstreamWords,
} from 'mediagate-plugin';

const OptionsSchema = Type.Object(
  {
    /** Base address of the vendor's API. */
    url: Type.String({ default: 'https://api.tide.example/v1', pattern: '^https?://[^?#\\s]+$' }),
    apiKey: Type.String({ minLength: 1 }),
    /** Public name of the model. */
    model: Type.String({ default: 'tide-1', minLength: 1 }),
    /** The vendor's own name of it. */
    vendorModel: Type.String({ default: 'tide-large-v2', minLength: 1 }),
  },
  { additionalProperties: false },
);

export default definePlugin<typeof OptionsSchema>({
  name: 'tide_text',
  apiVersion: 1,
  summary: 'Chats with a model of Tide, an invented vendor with the chat-completions format.',
  provides: ['text'],
  options: OptionsSchema,
  setup: (context) => ({ textProviders: [createTideProvider(context)] }),
});

function createTideProvider({ http, options, clock }: PluginContext<Static<typeof OptionsSchema>>): TextProvider {
  const { url, apiKey, model, vendorModel } = options;
  const names = { url, apiKey, model: vendorModel, publicModel: model };
  return {
    models: [{ id: model, routes: ['chat_completions'], efforts: [] }],
    async send({ body, signal }) {
      signal.throwIfAborted();
      const response = await http.stream({
        url: `${url}/chat/completions`,
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        // Every other byte of the body stays as the caller sent it.
        body: replaceFields(body, { model: vendorModel }),
        signal,
        idleMs: 300_000,
        maxBytes: 256 * 1024 * 1024,
      });
      if (response.status !== 200) throw failureOf(await readRefusal(response, clock), clock.now(), names);
      const type = response.headers['content-type'] ?? 'application/json';
      const chunks = response.body[Symbol.asyncIterator]();
      // A failure before the first bytes is an error with a status, and after them a broken answer.
      const first = await chunks.next();
      if (first.done) throw new GatewayError('upstream_error', 'The upstream answered with an empty body.');
      if (type.startsWith('text/html')) {
        await chunks.return?.();
        throw new GatewayError('upstream_changed', 'The upstream answered with an HTML page.');
      }
      const headers = { 'content-type': type };
      const rest = resumeBody(first, chunks);
      return { status: 200, headers, body: rest, upstream: 'tide', upstreamModel: vendorModel };
    },
  };
}

/** The vendor's own words may name its model or a key: `upstreamWords` removes these. */
function failureOf(refusal: UpstreamRefusal, now: number, names: UpstreamNames): GatewayError {
  if (asString(at(refusal.json, 'error', 'code')) === 'context_length_exceeded') {
    return new GatewayError('context_length_exceeded', 'The input is longer than the context of the model.');
  }
  if (blamesCaller(refusal)) {
    const upstream = upstreamWords(refusal, names);
    return new GatewayError('invalid_value', 'The model refused the request.', { upstream });
  }
  return textStatusFailure(refusal, now, names).error;
}
