import { createValidator, type ExtractRequest, type Gateway, GatewayError, type Issue } from 'mediagate';
import Type, { type Static } from 'typebox';

export const MAX_URL_LENGTH = 2048;
export const REVIEW_LIMIT = { min: 1, max: 100, default: 10 } as const;

/** What each member accepts, in words: descriptions of the schema and the end of every refusal. */
const ACCEPTED = {
  url: `an http or https link of a supported platform, at most ${MAX_URL_LENGTH} characters`,
  clip_review_limit: `a whole number from ${REVIEW_LIMIT.min} to ${REVIEW_LIMIT.max}`,
  clip_sort: '"latest" or "recommended"',
  include_empty_reviews: 'true or false',
  include_audio_mp3: 'true or false',
  async_mode: 'true or false',
  force_async: 'true or false',
};

/** Body of `POST /v1/extract` (service document 2.4). Members besides these are ignored. */
export const ExtractBodySchema = Type.Object({
  url: Type.String({ description: ACCEPTED.url }),
  clip_review_limit: Type.Optional(
    Type.Integer({ minimum: REVIEW_LIMIT.min, maximum: REVIEW_LIMIT.max, description: ACCEPTED.clip_review_limit }),
  ),
  clip_sort: Type.Optional(
    Type.Union([Type.Literal('latest'), Type.Literal('recommended')], { description: ACCEPTED.clip_sort }),
  ),
  include_empty_reviews: Type.Optional(Type.Boolean({ description: ACCEPTED.include_empty_reviews })),
  include_audio_mp3: Type.Optional(Type.Boolean({ description: ACCEPTED.include_audio_mp3 })),
  async_mode: Type.Optional(Type.Boolean({ description: ACCEPTED.async_mode })),
  force_async: Type.Optional(Type.Boolean({ description: ACCEPTED.force_async })),
});

export type ExtractBody = Static<typeof ExtractBodySchema>;

const names = Object.keys(ACCEPTED) as (keyof ExtractBody)[];
const validator = createValidator(ExtractBodySchema);

/**
 * Checks a body. Types are strict: `"true"` is no boolean, `5.5` no whole number. `null` counts as not sent.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
export function checkExtractBody(body: Readonly<Record<string, unknown>>): ExtractBody {
  const sent: Record<string, unknown> = {};
  for (const name of names) {
    if (Object.hasOwn(body, name) && body[name] !== null) sent[name] = body[name];
  }
  const checked = validator.check(sent);
  if (checked.ok) return checked.value;
  throw toError(checked.issues[0]);
}

function toError(issue: Issue | undefined): GatewayError {
  const param = names.find((name) => name === issue?.path) ?? 'url';
  const accepted = ACCEPTED[param];
  return issue?.keyword === 'required'
    ? new GatewayError('missing_required_parameter', `${param} is missing: send ${accepted}.`, { param })
    : new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

export function decodeExtract(body: ExtractBody, signal?: AbortSignal): ExtractRequest {
  return {
    url: body.url,
    clipReviewLimit: body.clip_review_limit,
    clipSort: body.clip_sort,
    includeEmptyReviews: body.include_empty_reviews,
    includeAudioMp3: body.include_audio_mp3,
    signal,
  };
}

/** Options that were sent and change nothing for this platform: accepted, and said in `limitations`. */
export function ignoredOptions(body: ExtractBody, gateway: Pick<Gateway, 'platforms'>, platform: string): string[] {
  const notes: string[] = [];
  if (body.async_mode) notes.push('async_mode_ignored: the link was extracted at once');
  if (body.force_async) notes.push('force_async_ignored: the link was extracted at once');
  const reviews = body.clip_review_limit ?? body.clip_sort ?? body.include_empty_reviews;
  if (reviews !== undefined && !gateway.platforms().some(({ key, features }) => key === platform && features.reviews)) {
    notes.push('review_options_ignored: only shop links have reviews');
  }
  return notes;
}
