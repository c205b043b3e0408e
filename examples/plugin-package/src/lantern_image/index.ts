import {
  asNumber,
  asString,
  at,
  blamesCaller,
  definePlugin,
  GatewayError,
  type GeneratedImage,
  type ImageProvider,
  type PluginContext,
  type Static,
  statusFailure,
  Type,
  tryParseJson,
  type UpstreamRefusal,
} from 'mediagate-plugin';

const OptionsSchema = Type.Object(
  {
    /** Base address of the vendor's API. */
    url: Type.String({ default: 'https://api.lantern.example/v1', pattern: '^https?://[^?#\\s]+$' }),
    apiKey: Type.String({ minLength: 1 }),
    /** Public name of the model. */
    model: Type.String({ default: 'lantern-1', minLength: 1 }),
  },
  { additionalProperties: false },
);

export default definePlugin<typeof OptionsSchema>({
  name: 'lantern_image',
  apiVersion: 1,
  summary: 'Images of Lantern, an invented vendor.',
  provides: ['image'],
  options: OptionsSchema,
  setup: (context) => ({ imageProviders: [createLanternProvider(context)] }),
});

function createLanternProvider({ http, options, clock }: PluginContext<Static<typeof OptionsSchema>>): ImageProvider {
  return {
    models: [{ id: options.model, maxReferences: 0, formats: ['png', 'jpeg', 'webp'] }],
    async generate(call) {
      call.signal.throwIfAborted();
      // Before the request: an image without the references would be charged as well.
      if (call.references.length > 0) {
        throw new GatewayError('unsupported_value', 'The model takes no reference images.', { param: 'image' });
      }
      const { prompt, size, options: wanted } = call;
      const { status, headers, text } = await http.request({
        url: `${options.url}/pictures`,
        method: 'POST',
        headers: { authorization: `Bearer ${options.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: prompt, format: wanted.output_format, ...(size !== 'auto' && size) }),
        signal: call.signal,
        maxBytes: 64 * 1024 * 1024,
      });
      const json = tryParseJson(text());
      if (status !== 200) throw failureOf({ status, headers, json }, clock.now());
      return readPicture(json);
    },
  };
}

/** The vendor's own words may name its model or a key, so they are not passed on. */
function failureOf(refusal: UpstreamRefusal, now: number): GatewayError {
  if (asString(at(refusal.json, 'refused')) === 'unsafe') {
    return new GatewayError('moderation_blocked', "The request was rejected by the model's safety system.");
  }
  if (blamesCaller(refusal)) return new GatewayError('invalid_value', 'The model refused the request.');
  return statusFailure(refusal, now, 'nowhere').error;
}

function readPicture(json: unknown): GeneratedImage {
  const bytes = Buffer.from(asString(at(json, 'picture')) ?? '', 'base64');
  const start = bytes.toString('latin1', 0, 12);
  const contentType = SIGNATURES.find(([pattern]) => pattern.test(start))?.[1];
  if (!contentType) throw new GatewayError('upstream_changed', 'The upstream answered without a usable image.');
  const outputTokens = asNumber(at(json, 'tokens'));
  return { bytes, contentType, ...(outputTokens !== undefined && { usage: { outputTokens } }) };
}

const SIGNATURES = [
  [/^.PNG/s, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
] as const;
