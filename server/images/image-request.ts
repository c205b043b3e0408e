/*
 * Decodes the body of an image request. Types are strict, `null` counts as not sent, and fields that no model reads are
 * listed for `x-ignored-params`. Sizes are the four named ones and `auto`, or any possible size if the operator allows
 * it. Settings of many image servers, such as seed or steps, are decoded for the models that take them.
 */

import { field, type ImageSize, optional, type Static, Type } from '../../core/contracts/index.js';
import { type ImageDelivery, type ImageRequest, MAX_REFERENCES, type ReferenceInput } from '../../core/images/index.js';
import { createValidator, GatewayError } from '../../core/runtime/index.js';
import { fieldError, knownFields, webhookUrlField } from '../http/index.js';

/** Four input images of 10 MiB in base64, and 1 MiB for everything else. */
export const MAX_IMAGE_BODY_BYTES = 4 * Math.ceil((10 * 1024 * 1024) / 3) * 4 + 1024 * 1024;
const MAX_PROMPT_LENGTH = 32_000;
const MAX_NAME_LENGTH = 64;
const MAX_USER_LENGTH = 512;

/** Two names of one model, of which pages show one. */
const OTHER_NAME = { 'gen-image-2': 'gen-img-2' } as const;

export function shownImageModel(id: string): string {
  return id in OTHER_NAME ? OTHER_NAME[id as keyof typeof OTHER_NAME] : id;
}

/** The canvas sizes of the service document. */
export const NAMED_SIZES = ['1024x1024', '1024x1536', '1536x1024', '1152x2048'] as const;
const DEFAULT_SIZE: ImageSize = { width: 1024, height: 1024 };
const SIZE_STEP = 16;
const MAX_RATIO = 3;
const MAX_SIDE = 3840;
const MAX_PIXELS = 3840 * 2160;

const LINK = 'an https link, a data URI, or a list of at most 4 of them';

/** What each field accepts, for error messages. */
const ACCEPTED = {
  model: 'the name of an image model, e.g. "gen-img-2"',
  prompt: `a text of 1 to ${MAX_PROMPT_LENGTH} characters`,
  n: '1: each request makes one image. For several images, send POST /v1/images/jobs once for each, with an Idempotency-Key of its own',
  mask: 'an https link or a data URI of a PNG file with an alpha channel',
  size: `"auto", ${NAMED_SIZES.map((size) => `"${size}"`).join(', ')}`,
  response_format: '"url" or "b64_json"',
  upload_to_storage: 'true or false',
  stream: 'true or false',
  partial_images: 'a whole number from 0 to 3',
  items: 'a list of exactly one object with "prompt" and "image_url"',
  image_url: LINK,
  input_image: LINK,
  image: LINK,
  quality: `a text of at most ${MAX_NAME_LENGTH} characters`,
  background: `a text of at most ${MAX_NAME_LENGTH} characters`,
  moderation: `a text of at most ${MAX_NAME_LENGTH} characters`,
  input_fidelity: `a text of at most ${MAX_NAME_LENGTH} characters`,
  output_format: '"png", "jpeg" or "webp"',
  output_compression: 'a whole number from 0 to 100',
  user: `a text of at most ${MAX_USER_LENGTH} characters`,
} as const;

const Links = Type.Union([Type.String(), Type.Array(Type.String())]);
const Name = Type.String({ maxLength: MAX_NAME_LENGTH });
const Prompt = Type.String({ pattern: '\\S', maxLength: MAX_PROMPT_LENGTH });

const ItemSchema = Type.Object({
  prompt: optional(Prompt, 'What the image shows, in place of the outer `prompt`.'),
  image_url: optional(Links, `Input images besides those of the request: ${LINK}.`),
});

/** Body of the image routes (service document 2.1). Other fields are ignored. */
export const ImageBodySchema = Type.Object({
  model: field(Type.String(), `The model: ${ACCEPTED.model}.`),
  prompt: optional(Prompt, `What the image shows: ${ACCEPTED.prompt}. Required, or \`items[].prompt\`.`),
  n: optional(Type.Literal(1), 'Number of images: 1, since each request makes one.'),
  size: optional(
    Type.String(),
    `Size in pixels: ${ACCEPTED.size}; some gateways accept more. With "auto" the model chooses. Default "1024x1024".`,
  ),
  response_format: optional(
    Type.Union([Type.Literal('url'), Type.Literal('b64_json')]),
    'Form of the result: a link, or the image in base64. Default `url`.',
  ),
  upload_to_storage: optional(
    Type.Boolean(),
    'With `b64_json`: return a link as well. Without it there is no effect. Default false.',
  ),
  stream: optional(
    Type.Boolean(),
    'Answers with server-sent events: partial images, and then the image, always in base64. Jobs have `/events` in its place. Default false.',
  ),
  partial_images: optional(
    Type.Integer({ minimum: 0, maximum: 3 }),
    'Maximum number of partial images in a stream, or in the events of a job; a model may make fewer, or none. Default 0.',
  ),
  items: optional(
    Type.Array(Type.Object({}), { minItems: 1, maxItems: 1 }),
    `Another form of the request: ${ACCEPTED.items}.`,
  ),
  image_url: optional(Links, `Input images: ${LINK}. A request has at most 4, of at most 10 MB each.`),
  input_image: optional(Links, 'Another name of `image_url`.'),
  image: optional(Links, 'Another name of `image_url`.'),
  mask: optional(
    Type.String(),
    'Marks the part of the first input image to change, by its transparent pixels: an https link or a data URI of a PNG file of the same size, with an alpha channel.',
  ),
  quality: optional(Name, 'Quality, in the words of the model vendor, e.g. "high".'),
  background: optional(Name, 'Background, in the words of the model vendor, e.g. "transparent".'),
  moderation: optional(Name, 'Strictness of moderation, in the words of the model vendor.'),
  input_fidelity: optional(Name, 'Fidelity to the input images, in the words of the model vendor.'),
  output_format: optional(
    Type.Union([Type.Literal('png'), Type.Literal('jpeg'), Type.Literal('webp')]),
    'Format of the file. Default `png`.',
  ),
  output_compression: optional(
    Type.Integer({ minimum: 0, maximum: 100 }),
    'Quality of a JPEG or WebP file, from 0 to 100.',
  ),
  user: optional(
    Type.String({ maxLength: MAX_USER_LENGTH }),
    'Your id of the end user, which is passed to the model vendor.',
  ),
});

/** Settings that many servers of image models have, by the names that they give them; those of numbers first. */
export const NUMBER_SETTINGS = [
  ...['seed', 'steps', 'num_inference_steps', 'guidance', 'guidance_scale', 'cfg_scale', 'strength', 'clip_skip'],
  ...['denoising_strength', 'eta'],
] as const;
export const FURTHER_SETTINGS: readonly string[] = [
  ...NUMBER_SETTINGS,
  ...['negative_prompt', 'sampler', 'sampler_name', 'sample_method', 'scheduler', 'style'],
];

/** Body of an image job. */
export const ImageJobBodySchema = Type.Object({
  ...ImageBodySchema.properties,
  webhook_url: webhookUrlField,
});

/** The fields that are read of a large body. */
export const IMAGE_FIELDS: readonly string[] = [...Object.keys(ImageJobBodySchema.properties), ...FURTHER_SETTINGS];

type ImageBody = Static<typeof ImageBodySchema>;
type Item = Static<typeof ItemSchema>;

const bodyValidator = createValidator(ImageBodySchema);
const itemValidator = createValidator(ItemSchema);

/** Declarations that all image routes share. */
export const IMAGE_ROUTE = { grant: 'images', tag: 'Images' } as const;
export const IMAGE_EXAMPLE = { model: 'gen-img-2', prompt: 'A tug in the harbour at dawn', size: '1024x1024' };

/** Errors of an image request. */
export const SUBMISSION_ERRORS = [
  'unsupported_parameter',
  'unsupported_value',
  'too_many_images',
  'invalid_image_url',
  'invalid_base64_image',
  'unsupported_image_media_type',
  'image_file_too_large',
  'image_too_large',
  'model_not_supported',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'rate_limit_exceeded',
  'daily_image_limit_reached',
  'too_many_open_jobs',
  'queue_full',
] as const;

export interface SizeRule {
  /** Whether other canvas sizes than the named ones are accepted. */
  anySize: boolean;
  /** Whether the route can stream the image. Default false. */
  streams?: boolean;
}

/**
 * Checks and decodes a body. Types are strict, `null` counts as not sent.
 * @throws GatewayError `missing_required_parameter`, `invalid_value`, `unsupported_parameter`, `too_many_images` with
 *   `param`.
 */
export function decodeImage(sent: Readonly<Record<string, unknown>>, rule: SizeRule): ImageRequest {
  const body = checkBody(sent);
  const further = readFurther(sent);
  if (body.stream && !rule.streams) {
    const message =
      'A job is not streamed: follow it at /v1/images/jobs/{id}/events, or send the request to /v1/images/generations.';
    throw new GatewayError('unsupported_parameter', message, { param: 'stream' });
  }
  const item = body.items?.[0] && checkItem(body.items[0]);
  const prompt = item?.prompt ?? body.prompt;
  if (prompt === undefined) {
    throw new GatewayError('missing_required_parameter', `prompt is missing: send ${ACCEPTED.prompt}.`, {
      param: 'prompt',
    });
  }
  const { quality, background, moderation, input_fidelity, output_format, output_compression, user } = body;
  const options = {
    quality,
    background,
    moderation,
    input_fidelity,
    output_format,
    output_compression,
    user,
    ...further,
  };
  return {
    model: body.model,
    prompt,
    size: body.size === undefined ? DEFAULT_SIZE : readSize(body.size, rule),
    references: readReferences(body, item),
    ...(body.mask !== undefined && { mask: { value: body.mask, param: 'mask' } }),
    options: Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
    delivery: deliveryOf(body),
    // Those of a job are among its events, without `stream`.
    ...((body.stream || !rule.streams) && body.partial_images && { partialImages: body.partial_images }),
  };
}

export function decodeStreamed(value: Readonly<Record<string, unknown>>, rule: SizeRule) {
  const image = decodeImage(value, { ...rule, streams: true });
  return { image, stream: value.stream === true, ignored: unknownFields(value) };
}

/** @throws GatewayError `invalid_value` for a value that no server has. */
function readFurther(sent: Readonly<Record<string, unknown>>): Record<string, string | number> {
  const found: Record<string, string | number> = {};
  for (const param of FURTHER_SETTINGS) {
    const value = Object.hasOwn(sent, param) ? (sent[param] ?? undefined) : undefined;
    if (value === undefined) continue;
    const isNumber = typeof value === 'number' && Number.isFinite(value);
    if (!isNumber && !(typeof value === 'string' && value.length <= MAX_PROMPT_LENGTH)) {
      const accepted = `a number, or a text of at most ${MAX_PROMPT_LENGTH} characters`;
      throw new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
    }
    found[param] = value as string | number;
  }
  return found;
}

/** Fields that no model reads. */
export function unknownFields(sent: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(sent).filter((name) => !READ_FIELDS.has(name) && sent[name] !== null && sent[name] !== undefined);
}

const READ_FIELDS: ReadonlySet<string> = new Set([...IMAGE_FIELDS, 'images', 'image[]']);

/** A stream has the image in base64; a link only if the client asks for one. */
function deliveryOf({ stream, response_format: format, upload_to_storage: uploads }: ImageBody): ImageDelivery {
  if (stream) return uploads || format === 'url' ? 'both' : 'inline';
  if (format !== 'b64_json') return 'url';
  return uploads ? 'both' : 'inline';
}

function checkBody(sent: Readonly<Record<string, unknown>>): ImageBody {
  const checked = bodyValidator.check(knownFields(sent, ImageBodySchema));
  if (checked.ok) return checked.value;
  throw fieldError(checked.issues[0], ACCEPTED);
}

function checkItem(sent: object): Item {
  const checked = itemValidator.check(knownFields(sent as Readonly<Record<string, unknown>>, ItemSchema));
  if (checked.ok) return checked.value;
  const [param = ''] = checked.issues[0]?.path.split('.') ?? [];
  const accepted = ACCEPTED[param as keyof typeof ACCEPTED];
  throw new GatewayError('invalid_value', `items[0].${param} must be ${accepted}.`, { param: `items[0].${param}` });
}

function readSize(text: string, { anySize }: SizeRule): ImageSize | 'auto' {
  if (text === 'auto') return text;
  const [, width, height] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/i.exec(text) ?? [];
  const size = { width: Number(width), height: Number(height) };
  if (width !== undefined && (isNamed(size) || (anySize && isPossible(size)))) return size;
  const more = anySize
    ? `, or WIDTHxHEIGHT: multiples of ${SIZE_STEP}, at most ${MAX_SIDE} on the longer side and ${MAX_PIXELS} pixels, no side more than ${MAX_RATIO} times the other`
    : '';
  throw new GatewayError('invalid_value', `size must be ${ACCEPTED.size}${more}.`, { param: 'size' });
}

function isNamed({ width, height }: ImageSize): boolean {
  return NAMED_SIZES.some((size) => size === `${width}x${height}`);
}

function isPossible({ width, height }: ImageSize): boolean {
  const [shorter, longer] = width < height ? [width, height] : [height, width];
  return (
    width % SIZE_STEP === 0 &&
    height % SIZE_STEP === 0 &&
    longer <= MAX_SIDE &&
    longer <= shorter * MAX_RATIO &&
    width * height <= MAX_PIXELS
  );
}

/** In the order of the document's fields, then the item's. */
function readReferences(body: ImageBody, item: Item | undefined): ReferenceInput[] {
  const references = [
    ...listLinks('image_url', body.image_url),
    ...listLinks('input_image', body.input_image),
    ...listLinks('image', body.image),
    ...listLinks('items[0].image_url', item?.image_url),
  ];
  return limitReferences(references);
}

/** @throws GatewayError `too_many_images`. */
export function limitReferences(references: ReferenceInput[]): ReferenceInput[] {
  const extra = references[MAX_REFERENCES];
  if (!extra) return references;
  const message = `A request accepts at most ${MAX_REFERENCES} input images; this one has ${references.length}.`;
  throw new GatewayError('too_many_images', message, { param: fieldOf(extra.param) });
}

function listLinks(param: string, links: Static<typeof Links> = []): ReferenceInput[] {
  if (typeof links === 'string') return [{ value: links, param }];
  return links.map((value, index) => ({ value, param: `${param}[${index}]` }));
}

/** `image[4]` or `images[4].image_url` → `image` or `images`. */
function fieldOf(param: string): string {
  return param.replace(/^images\[\d+\]\.image_url$/, 'images').replace(/\[\d+\]$/, '');
}
