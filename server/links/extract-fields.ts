/*
 * The fields in the bodies of `POST /v1/extract` and `POST /v1/extract/batch`. Some fields are options of extractors.
 * Those of the service document are always accepted; every other option that an extractor declares (`requestOptions`)
 * becomes a field as well, with its name in snake_case and its schema. The gateway gets the options that one of its
 * extractors declares. An option that the platform of a link does not declare has no effect, and the answer says so.
 */

import {
  field,
  optional,
  type PlatformInfo,
  type Static,
  type TObject,
  type TSchema,
  Type,
} from '../../core/contracts/index.js';

export const MAX_URL_LENGTH = 2048;
export const REVIEW_LIMIT = { min: 1, max: 100, default: 10 } as const;
export const MAX_BODY_BYTES = 65_536;
export const MAX_BATCH_URLS = 50;
/** Room for the maximum number of links of full length, each character escaped. */
export const MAX_BATCH_BYTES = 655_360;

/** What each field accepts, for error messages. */
export const ACCEPTED = {
  url: `an http or https link of a supported platform, at most ${MAX_URL_LENGTH} characters`,
  urls: `a list of 1 to ${MAX_BATCH_URLS} links, each a string`,
  clip_review_limit: `a whole number from ${REVIEW_LIMIT.min} to ${REVIEW_LIMIT.max}`,
  clip_sort: '"latest" or "recommended"',
  include_empty_reviews: 'true or false',
  include_audio_mp3: 'true or false',
  async_mode: 'true or false',
  force_async: 'true or false',
};

/** Options of extractors that are part of the service document (2.4). */
const documentedOptions = {
  clip_review_limit: optional(
    Type.Integer({ minimum: REVIEW_LIMIT.min, maximum: REVIEW_LIMIT.max }),
    `Shop links only: most reviews of each star group, from ${REVIEW_LIMIT.min} to ${REVIEW_LIMIT.max}. Default ${REVIEW_LIMIT.default}.`,
  ),
  clip_sort: optional(
    Type.Union([Type.Literal('latest'), Type.Literal('recommended')]),
    'Shop links only: order of the reviews. Default `latest`.',
  ),
  include_empty_reviews: optional(Type.Boolean(), 'Shop links only: include reviews without text. Default false.'),
};

const shared = {
  ...documentedOptions,
  include_audio_mp3: optional(
    Type.Boolean(),
    'Offer an MP3 file of video and audio items; it is made at the first download. Default true.',
  ),
  force_async: optional(
    Type.Boolean(),
    'Shop links only: fetch the product again in a background job, also if it is cached. Default false.',
  ),
};

export const extractFields = {
  url: field(Type.String(), `The link: ${ACCEPTED.url}.`),
  ...shared,
  async_mode: optional(
    Type.Boolean(),
    'Shop links only: answer at once, with the cached product or with a background job. Default false.',
  ),
};

export const batchFields = {
  urls: field(Type.Array(Type.String(), { minItems: 1, maxItems: MAX_BATCH_URLS }), `The links: ${ACCEPTED.urls}.`),
  ...shared,
};

/** Other fields are options of extractors by their public names. */
export type ExtractBody = Static<TObject<typeof extractFields>>;
export type BatchBody = Static<TObject<typeof batchFields>>;

/** Whether a platform has reviews: then its extractor declares an option for them. */
export function offersReviews(platform: PlatformInfo): boolean {
  return [...fieldsOf(platform).keys()].some(isDocumented);
}

export function isDocumented(field: string): boolean {
  return Object.hasOwn(documentedOptions, field);
}

/** Whether the field is the gateway's own, which no option can take. */
function isTaken(field: string): boolean {
  return !isDocumented(field) && (Object.hasOwn(extractFields, field) || Object.hasOwn(batchFields, field));
}

/** Public field → option, for the options of a platform. */
export function fieldsOf({ requestOptions }: PlatformInfo): Map<string, string> {
  const names = Object.keys(requestOptions?.properties ?? {});
  return new Map(names.map((name) => [fieldOf(name), name] as const).filter(([field]) => !isTaken(field)));
}

/** `clipReviewLimit` → `clip_review_limit`. */
export function fieldOf(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Schemas of the options that the service document does not name. Platforms may give one name different meanings. */
export function furtherFields(platforms: readonly PlatformInfo[]): Record<string, TSchema> {
  const schemas = new Map<string, TSchema[]>();
  for (const platform of platforms) {
    for (const [field, option] of fieldsOf(platform)) {
      if (isDocumented(field)) continue;
      const schema = platform.requestOptions?.properties[option];
      if (schema) schemas.set(field, [...(schemas.get(field) ?? []), schema]);
    }
  }
  return Object.fromEntries([...schemas].map(([field, all]) => [field, Type.Optional(oneOf(all))]));
}

/** Without the default, which is the platform's to fill in. */
function oneOf(schemas: readonly TSchema[]): TSchema {
  const plain = schemas.map(({ default: _, ...schema }: TSchema & { default?: unknown }) => schema as TSchema);
  const [first = Type.Unknown()] = plain;
  return plain.length > 1 ? Type.Union(plain) : first;
}

export function acceptedBy({ title = 'as the platform describes it' }: TSchema & { title?: string }): string {
  return title;
}
