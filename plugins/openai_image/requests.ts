/*
 * The options of the plugin, and the encoding of one image request. Without references it is JSON, with references a
 * form, or JSON with data URIs if the upstream needs that. A size that the upstream lacks is replaced by the nearest
 * shape, with a warning in the answer. Only the settings that an upstream takes are sent. A request whose answer was
 * lost is sent again only to an upstream that is idempotent, with the same idempotency key.
 */

import {
  type AfterLostAnswer,
  BearerKeySchema,
  type BodySource,
  type ErrorCode,
  encodeForm,
  type FilePart,
  type ImageCall,
  type ImageSize,
  type ImageWarning,
  type Media,
  openaiFailure,
  RestMsSchema,
  type Static,
  type TryFailure,
  Type,
  type UpstreamRefusal,
  UpstreamUrlSchema,
} from 'mediagate/plugin';

const strict = { additionalProperties: false } as const;

/** Settings that servers of this format have besides those of the vendor. */
export const SETTINGS = [
  'seed',
  'steps',
  'num_inference_steps',
  'guidance',
  'guidance_scale',
  'cfg_scale',
  'strength',
  'clip_skip',
  'denoising_strength',
  'eta',
  'negative_prompt',
  'sampler',
  'sampler_name',
  'sample_method',
  'scheduler',
  'style',
] as const;
/** Models of the vendor, also with the name of a gateway before them. */
const OF_VENDOR = /(?:^|\/)(?:chatgpt-image|gpt-image|dall-e)/i;

/** Further settings that an upstream accepts. */
export function takenBy({ takes, model }: Pick<Upstream, 'takes' | 'model'>): readonly string[] {
  return takes ?? (OF_VENDOR.test(model) ? [] : SETTINGS);
}

const UpstreamSchema = Type.Object(
  {
    /** Base address, e.g. `https://api.openai.com/v1`; `/images/generations` and `/images/edits` are put behind it. */
    url: UpstreamUrlSchema,
    apiKey: BearerKeySchema,
    model: Type.String({ minLength: 1, default: 'gpt-image-2', description: 'Name of the model at this upstream.' }),
    sizes: Type.Union([Type.Literal('any'), Type.Array(Type.String({ pattern: '^\\d+x\\d+$' }), { minItems: 1 })], {
      default: 'any',
      description:
        'Sizes that the upstream accepts, as `WIDTHxHEIGHT`; the nearest shape is requested. `any`: all sizes.',
    }),
    maxReferences: Type.Integer({
      minimum: 0,
      maximum: 16,
      default: 4,
      description: 'Most input images that the upstream accepts; a call with more goes to another upstream.',
    }),
    jsonEdits: Type.Boolean({
      default: false,
      description: 'Send input images as data URIs in JSON instead of files of a form.',
    }),
    sendsResponseFormat: Type.Boolean({
      default: false,
      description: 'Ask for base64 explicitly, which some servers need and the models of the vendor refuse.',
    }),
    takes: Type.Optional(
      Type.Array(Type.Union(SETTINGS.map((one) => Type.Literal(one))), {
        description:
          'Further settings that the upstream accepts. Default: all of them, but for a model of OpenAI, which refuses them, none.',
      }),
    ),
    idempotent: Type.Boolean({
      default: false,
      description:
        'Whether the upstream makes one image for one `Idempotency-Key`, so that a request whose answer was lost may be sent again.',
    }),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    upstreams: Type.Array(UpstreamSchema, {
      minItems: 1,
      maxItems: 16,
      description: 'Servers of this format, best first.',
    }),
    models: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      default: ['gen-img-2', 'gen-image-2'],
      description: 'Public names of the model.',
    }),
    budgetMs: Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      default: 230_000,
      description: 'Milliseconds for one image over all tries; less than the `timeoutMs` of the entry.',
    }),
    restMs: RestMsSchema,
  },
  strict,
);

export type Options = Static<typeof OptionsSchema>;
export type Upstream = Static<typeof UpstreamSchema>;

/** What to ask an upstream for, and what to say about it where that is not what the caller asked for. */
interface AskedSize {
  /** Absent: the upstream chooses. */
  size?: string;
  warning?: ImageWarning;
}

/** The nearest shape that the upstream has; of equal shapes the smallest that is large enough. */
export function askedSize(size: ImageSize | 'auto', { sizes }: Pick<Upstream, 'sizes'>): AskedSize {
  if (size === 'auto') return sizes === 'any' ? { size } : {};
  const wanted = `${size.width}x${size.height}`;
  if (sizes === 'any' || sizes.includes(wanted)) return { size: wanted };
  const distance = (listed: string) => {
    const [width = 1, height = 1] = listed.split('x').map(Number);
    const shape = Math.abs(Math.log((width * size.height) / (height * size.width)));
    const scale = Math.log((width * height) / (size.width * size.height));
    // Shape first: what is cut off is lost, what is scaled is not. Too small is worse than too large.
    return shape * 100 + (scale < 0 ? -10 * scale : scale);
  };
  const [nearest] = [...sizes].sort((one, other) => distance(one) - distance(other));
  const details = `generated as ${nearest}, since the upstream does not support ${wanted}`;
  return { size: nearest, warning: { setting: 'size', details } };
}

/** A request in the upstream's format, without its credentials. */
interface WireRequest {
  path: '/images/generations' | '/images/edits';
  contentType: string;
  body: string | BodySource;
}

const PASSED = ['quality', 'background', 'output_format', 'output_compression', 'moderation', 'user'] as const;
const PASSED_WITH_REFERENCES = [...PASSED, 'input_fidelity'] as const;

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
};

/** @param size as the upstream is to be asked for it; absent, it is not asked. */
export function encodeRequest(call: ImageCall, upstream: Upstream, size: string | undefined): WireRequest {
  const withReferences = call.references.length > 0;
  const settings = settingsOf(call, upstream, size);
  if (!withReferences) return json('/images/generations', settings);
  if (upstream.jsonEdits) {
    const images = call.references.map((one) => ({ image_url: dataUri(one) }));
    return json('/images/edits', {
      ...settings,
      images,
      ...(call.mask && { mask: { image_url: dataUri(call.mask) } }),
    });
  }
  const fields = Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
  const files = call.references.map((one, index) => filePart('image[]', `image-${index + 1}`, one));
  if (call.mask) files.push(filePart('mask', 'mask', call.mask));
  return { path: '/images/edits', ...encodeForm(fields, files) };
}

function settingsOf(
  call: ImageCall,
  upstream: Upstream,
  size: string | undefined,
): Record<string, string | number | boolean> {
  const usual: readonly string[] = call.references.length > 0 ? PASSED_WITH_REFERENCES : PASSED;
  const names = [...usual, ...takenBy(upstream)];
  const passed = names.flatMap((name) => {
    const value = call.options[name];
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : [];
  });
  return {
    model: upstream.model,
    prompt: call.prompt,
    n: 1,
    ...(size !== undefined && { size }),
    ...Object.fromEntries(passed),
    ...(upstream.sendsResponseFormat && { response_format: 'b64_json' }),
    ...(call.partials && { stream: true, partial_images: call.partials.count }),
  };
}

function json(path: WireRequest['path'], body: object): WireRequest {
  return { path, contentType: 'application/json', body: JSON.stringify(body) };
}

function filePart(name: string, stem: string, { bytes, contentType }: Media): FilePart {
  return { name, fileName: `${stem}.${EXTENSIONS[contentType] ?? 'bin'}`, contentType, content: bytes };
}

function dataUri({ bytes, contentType }: Media): string {
  return `data:${contentType};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')}`;
}

/** A caller's faults that have a name of their own here too. */
const SHARED_CODES: readonly ErrorCode[] = [
  'unsupported_value',
  'unsupported_parameter',
  'image_too_large',
  'image_file_too_large',
  'unsupported_image_media_type',
];
const PARAMS: ReadonlySet<string> = new Set([
  ...PASSED_WITH_REFERENCES,
  ...SETTINGS,
  'prompt',
  'size',
  'image',
  'mask',
]);

export function refusalFailure(refusal: UpstreamRefusal, call: ImageCall, upstream: Upstream, now: number): TryFailure {
  const names = { ...upstream, publicModel: call.model };
  const lost = afterLostAnswer(call, upstream);
  return openaiFailure(refusal, { names, now, lost, codes: SHARED_CODES, params: PARAMS });
}

/** Only an upstream that knows the request again is asked again where the image may have been made. */
export function afterLostAnswer(call: ImageCall, upstream: Upstream): AfterLostAnswer {
  return upstream.idempotent && call.idempotencyKey !== undefined ? 'here' : 'nowhere';
}
