import type { Gateway } from 'mediagate';
import { EXTRACT_DEFAULTS, type ExtractRequest, type Static, Type } from '../../core/contracts/index.js';
import { createValidator, GatewayError, type Issue, type Validator } from '../../core/runtime/index.js';
import { fieldError, knownFields } from '../http/index.js';

/* The bodies of `POST /v1/extract` and `POST /v1/extract/batch`, and what they become for the gateway. */

export const MAX_URL_LENGTH = 2048;
export const REVIEW_LIMIT = { min: 1, max: 100, default: EXTRACT_DEFAULTS.clipReviewLimit } as const;
export const MAX_BODY_BYTES = 65_536;
export const MAX_BATCH_URLS = 50;
/** Room for the maximum number of links of full length, each character escaped. */
export const MAX_BATCH_BYTES = 655_360;

/** What each field accepts: for descriptions of the schema and error messages. */
const ACCEPTED = {
  url: `an http or https link of a supported platform, at most ${MAX_URL_LENGTH} characters`,
  urls: `a list of 1 to ${MAX_BATCH_URLS} links, each a string`,
  clip_review_limit: `a whole number from ${REVIEW_LIMIT.min} to ${REVIEW_LIMIT.max}`,
  clip_sort: '"latest" or "recommended"',
  include_empty_reviews: 'true or false',
  include_audio_mp3: 'true or false',
  async_mode: 'true or false',
  force_async: 'true or false',
};

const options = {
  clip_review_limit: Type.Optional(
    Type.Integer({ minimum: REVIEW_LIMIT.min, maximum: REVIEW_LIMIT.max, description: ACCEPTED.clip_review_limit }),
  ),
  clip_sort: Type.Optional(
    Type.Union([Type.Literal('latest'), Type.Literal('recommended')], { description: ACCEPTED.clip_sort }),
  ),
  include_empty_reviews: Type.Optional(Type.Boolean({ description: ACCEPTED.include_empty_reviews })),
  include_audio_mp3: Type.Optional(Type.Boolean({ description: ACCEPTED.include_audio_mp3 })),
  force_async: Type.Optional(Type.Boolean({ description: ACCEPTED.force_async })),
};

/** Body of `POST /v1/extract` (service document 2.4). Other fields are ignored. */
export const ExtractBodySchema = Type.Object({
  url: Type.String({ description: ACCEPTED.url }),
  ...options,
  async_mode: Type.Optional(Type.Boolean({ description: ACCEPTED.async_mode })),
});

/** Body of `POST /v1/extract/batch`. Other fields are ignored. */
export const BatchBodySchema = Type.Object({
  urls: Type.Array(Type.String(), { minItems: 1, maxItems: MAX_BATCH_URLS, description: ACCEPTED.urls }),
  ...options,
});

export type ExtractBody = Static<typeof ExtractBodySchema>;
export type BatchBody = Static<typeof BatchBodySchema>;

const extractValidator = createValidator(ExtractBodySchema);
const batchValidator = createValidator(BatchBodySchema);

/**
 * Checks a body. Types are strict: `"true"` is no boolean, `5.5` no whole number. `null` counts as not sent.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
export function checkExtractBody(body: Readonly<Record<string, unknown>>): ExtractBody {
  return check(extractValidator, ExtractBodySchema, body);
}

/** As {@link checkExtractBody}. Each link is checked later and gets its own error. */
export function checkBatchBody(body: Readonly<Record<string, unknown>>): BatchBody {
  return check(batchValidator, BatchBodySchema, body);
}

function check<Body>(
  validator: Validator<Body>,
  schema: { properties: object },
  body: Readonly<Record<string, unknown>>,
): Body {
  const checked = validator.check(knownFields(body, schema));
  if (checked.ok) return checked.value;
  throw toError(checked.issues[0]);
}

function toError(issue: Issue | undefined): GatewayError {
  const [param = '', index] = issue?.path.split('.') ?? [];
  if (index === undefined) return fieldError(issue, ACCEPTED);
  return new GatewayError('invalid_value', `${param}[${index}] is no string: ${param} must be ${ACCEPTED.urls}.`, {
    param,
  });
}

export function decodeExtract(body: ExtractBody, signal?: AbortSignal): ExtractRequest {
  return { url: body.url, ...decodeOptions(body), signal };
}

/** Everything but the links. */
export function decodeOptions(body: Omit<ExtractBody, 'url'>) {
  return {
    clipReviewLimit: body.clip_review_limit,
    clipSort: body.clip_sort,
    includeEmptyReviews: body.include_empty_reviews,
    includeAudioMp3: body.include_audio_mp3,
  };
}

/** Options that were sent but have no effect on this platform: accepted, and listed in `limitations`. */
export function ignoredOptions(
  body: Omit<ExtractBody, 'url'>,
  gateway: Pick<Gateway, 'platformFeatures'>,
  platform: string,
): string[] {
  const features = gateway.platformFeatures(platform);
  const notes: string[] = [];
  if (!features?.async) {
    if (body.async_mode) notes.push('async_mode_ignored: the link was extracted at once');
    if (body.force_async) notes.push('force_async_ignored: the link was extracted at once');
  }
  const reviews = body.clip_review_limit ?? body.clip_sort ?? body.include_empty_reviews;
  if (reviews !== undefined && !features?.reviews) notes.push('review_options_ignored: only shop links have reviews');
  return notes;
}
