/*
 * Reads the bodies of `POST /v1/extract` and `POST /v1/extract/batch`, with strict types. Some fields are options of extractors.
 * Those of the service document are always accepted; every other option that an extractor declares (`requestOptions`)
 * becomes a field as well, with its name in snake_case and its schema. The gateway gets the options that one of its
 * extractors declares. An option that the platform of a link does not declare has no effect, and the answer says so.
 */

import { type Gateway } from 'mediagate';
import {
  type ExtractRequest,
  field,
  optional,
  type PlatformInfo,
  type RequestOptions,
  type Static,
  type TObject,
  type TSchema,
  Type,
} from '../../core/contracts/index.js';
import { createValidator, GatewayError, type Issue, type Validator } from '../../core/runtime/index.js';
import { fieldError, knownFields, WEBHOOK_URL, webhookUrlField } from '../http/index.js';
import { TRANSCRIPT_FIELDS, TRANSCRIPT_LANGUAGES } from '../transcripts/index.js';

export const MAX_URL_LENGTH = 2048;
export const REVIEW_LIMIT = { min: 1, max: 100, default: 10 } as const;
export const MAX_BODY_BYTES = 65_536;
export const MAX_BATCH_URLS = 50;
/** Links of a background batch. */
export const MAX_JOB_BATCH_URLS = 10_000;
export const MAX_JOB_BATCH_BYTES = 4 * 1024 * 1024;
/** Room for the maximum number of links of full length, each character escaped. */
export const MAX_BATCH_BYTES = 655_360;

function acceptedUrls(max: number): string {
  return `a list of 1 to ${max} links, each a string`;
}

/** What each field accepts, for error messages. */
const ACCEPTED = {
  url: `an http or https link of a supported platform, at most ${MAX_URL_LENGTH} characters`,
  urls: acceptedUrls(MAX_BATCH_URLS),
  clip_review_limit: `a whole number from ${REVIEW_LIMIT.min} to ${REVIEW_LIMIT.max}`,
  clip_sort: '"latest" or "recommended"',
  include_empty_reviews: 'true or false',
  include_audio_mp3: 'true or false',
  include_media_links: 'true or false',
  async_mode: 'true or false',
  background: 'true or false',
  force_async: 'true or false',
  webhook_url: WEBHOOK_URL,
  include_transcript: 'true or false',
  verify_media: 'true or false',
  transcript_languages: TRANSCRIPT_LANGUAGES,
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
  include_media_links: optional(
    Type.Boolean(),
    'Give each media file a `proxy_url`: a link of this gateway that plays and downloads anywhere until it expires. Default false; true on the site.',
  ),
  force_async: optional(
    Type.Boolean(),
    'Fetch the item again in a background job, also if it is cached. On other links than shop links it needs `verify_media`, `include_transcript` or `background`. Default false.',
  ),
};

const verifyMedia = optional(
  Type.Boolean(),
  'Ask the platform for the first bytes of each media file that a person would download, and for some past its first minute: each entry has `verified_at` or `verification_error`. Default false.',
);

const extractFields = {
  url: field(Type.String(), `The link: ${ACCEPTED.url}.`),
  ...shared,
  ...TRANSCRIPT_FIELDS,
  verify_media: verifyMedia,
  async_mode: optional(
    Type.Boolean(),
    'Answer at once, with the cached document or with a background job. On other links than shop links it needs `verify_media`, `include_transcript` or `background`. Default false.',
  ),
  background: optional(
    Type.Boolean(),
    'Links of all platforms: answer at once, with the cached document or with a background job. Default false.',
  ),
  webhook_url: webhookUrlField,
};

const batchFields = {
  urls: field(Type.Array(Type.String(), { minItems: 1, maxItems: MAX_BATCH_URLS }), `The links: ${ACCEPTED.urls}.`),
  ...shared,
};

const jobBatchFields = {
  urls: field(
    Type.Array(Type.String({ maxLength: MAX_URL_LENGTH }), { minItems: 1, maxItems: MAX_JOB_BATCH_URLS }),
    `The links: ${acceptedUrls(MAX_JOB_BATCH_URLS)}.`,
  ),
  ...documentedOptions,
  include_audio_mp3: shared.include_audio_mp3,
  ...TRANSCRIPT_FIELDS,
  include_transcript: optional(Type.Boolean(), 'Add the words that are spoken, from subtitles alone. Default false.'),
  verify_media: verifyMedia,
  webhook_url: webhookUrlField,
};

/** Other fields are options of extractors by their public names. */
export type ExtractBody = Static<TObject<typeof extractFields>>;
export type BatchBody = Static<TObject<typeof batchFields>>;
export type JobBatchBody = Static<TObject<typeof jobBatchFields>>;

/**
 * Whether a request asks for something that a background job does on any platform: for the whole link, or with
 * `async_mode` or `force_async` for parts that take long.
 */
export function isDeferred(body: DeferringFields): boolean {
  const { background = false, async_mode: isAsync = false, force_async: isForced = false } = body;
  return background || ((isAsync || isForced) && (body.verify_media === true || body.include_transcript === true));
}

type DeferringFields = Pick<
  ExtractBody,
  'background' | 'async_mode' | 'force_async' | 'verify_media' | 'include_transcript'
>;

/** What polls of a job answer as its request asked, where they do not ask otherwise. */
export type JobAnswerFields = Pick<
  ExtractBody,
  'include_audio_mp3' | 'include_media_links' | 'include_transcript' | 'transcript_languages'
>;

const JOB_ANSWER_FIELDS = [
  'include_audio_mp3',
  'include_media_links',
  'include_transcript',
  'transcript_languages',
] as const;

/** Undefined if the request has none of them. */
export function jobAnswerFields(body: JobAnswerFields): JobAnswerFields | undefined {
  const sent = JOB_ANSWER_FIELDS.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]] as const]));
  return sent.length === 0 ? undefined : Object.fromEntries(sent);
}

/** Whether a platform has reviews: then its extractor declares an option for them. */
export function offersReviews(platform: PlatformInfo): boolean {
  return [...fieldsOf(platform).keys()].some(isDocumented);
}

function isDocumented(field: string): boolean {
  return Object.hasOwn(documentedOptions, field);
}

/** Whether the field is the gateway's own, which no option can take. */
function isTaken(field: string): boolean {
  return !isDocumented(field) && (Object.hasOwn(extractFields, field) || Object.hasOwn(batchFields, field));
}

/** Public field → option, for the options of a platform. */
function fieldsOf({ requestOptions }: PlatformInfo): Map<string, string> {
  const names = Object.keys(requestOptions?.properties ?? {});
  return new Map(names.map((name) => [fieldOf(name), name] as const).filter(([field]) => !isTaken(field)));
}

/** `clipReviewLimit` → `clip_review_limit`. */
function fieldOf(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Schemas of the options that the service document does not name. Platforms may give one name different meanings. */
function furtherFields(platforms: readonly PlatformInfo[]): Record<string, TSchema> {
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

function acceptedBy({ title = 'as the platform describes it' }: TSchema & { title?: string }): string {
  return title;
}

/** Fields of a body that are options of extractors, besides others. */
type SentOptions = Omit<ExtractBody, 'url'>;

/** Reads the bodies for one gateway: its extractors decide which options there are. */
export class ExtractRequests {
  /** Schema of the body of `POST /v1/extract`. Other fields are ignored. */
  readonly extractSchema: TObject;
  /** Schema of the body of `POST /v1/extract/batch`. Other fields are ignored. */
  readonly batchSchema: TObject;
  /** Schema of the body of `POST /v1/extract/batches`. Other fields are ignored. */
  readonly jobBatchSchema: TObject;
  readonly #gateway: Pick<Gateway, 'platformFeatures'>;
  /** Platform → public field → option. */
  readonly #declaredBy: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Public field → option. */
  readonly #options: ReadonlyMap<string, string>;
  /** What each field accepts, for error messages. */
  readonly #accepted: Readonly<Record<string, string>>;
  readonly #extractValidator: Validator<ExtractBody>;
  readonly #batchValidator: Validator<BatchBody>;
  readonly #jobBatchValidator: Validator<JobBatchBody>;

  constructor(gateway: Pick<Gateway, 'platforms' | 'platformFeatures'>) {
    const platforms = gateway.platforms();
    const further = furtherFields(platforms);
    const forms = Object.entries(further).map(([name, schema]) => [name, acceptedBy(schema)] as const);
    this.#gateway = gateway;
    this.#declaredBy = new Map(platforms.map((platform) => [platform.key, fieldsOf(platform)]));
    this.#options = new Map([...this.#declaredBy.values()].flatMap((fields) => [...fields]));
    this.#accepted = { ...ACCEPTED, ...Object.fromEntries(forms) };
    this.extractSchema = Type.Object({ ...extractFields, ...further });
    this.batchSchema = Type.Object({ ...batchFields, ...further });
    this.jobBatchSchema = Type.Object({ ...jobBatchFields, ...further });
    this.#extractValidator = createValidator(this.extractSchema) as Validator<ExtractBody>;
    this.#batchValidator = createValidator(this.batchSchema) as Validator<BatchBody>;
    this.#jobBatchValidator = createValidator(this.jobBatchSchema) as Validator<JobBatchBody>;
  }

  /**
   * Checks a body. Types are strict: `"true"` is no boolean, `5.5` no whole number. `null` counts as not sent.
   * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
   */
  checkExtract(body: Readonly<Record<string, unknown>>): ExtractBody {
    return this.#check(this.#extractValidator, this.extractSchema, body);
  }

  /** Checks a body of a batch, with strict types. Each link is checked later and gets its own error. */
  checkBatch(body: Readonly<Record<string, unknown>>): BatchBody {
    return this.#check(this.#batchValidator, this.batchSchema, body);
  }

  /** Likewise of a background batch. */
  checkJobBatch(body: Readonly<Record<string, unknown>>): JobBatchBody {
    return this.#check(this.#jobBatchValidator, this.jobBatchSchema, body, acceptedUrls(MAX_JOB_BATCH_URLS));
  }

  #check<Body>(
    validator: Validator<Body>,
    schema: TObject,
    body: Readonly<Record<string, unknown>>,
    urls = ACCEPTED.urls,
  ): Body {
    const checked = validator.check(knownFields(body, schema));
    if (checked.ok) return checked.value;
    throw toError(checked.issues[0], { ...this.#accepted, urls });
  }

  decode(body: ExtractBody, signal?: AbortSignal): ExtractRequest {
    return { url: body.url, ...this.decodeOptions(body), signal };
  }

  /** Everything but the links. */
  decodeOptions(body: SentOptions): Omit<ExtractRequest, 'url'> {
    const sent = Object.entries(body).flatMap(([field, value]) => {
      const option = this.#options.get(field);
      return option === undefined || value === undefined ? [] : [[option, value] as const];
    });
    const wanted: RequestOptions | undefined = sent.length > 0 ? Object.fromEntries(sent) : undefined;
    const { include_audio_mp3: includeAudioMp3, verify_media: verifyMedia } = body;
    return { ...(wanted && { options: wanted, optionName: fieldOf }), includeAudioMp3, verifyMedia };
  }

  /** Fields that were sent but have no effect on this platform, as notes for `limitations`. */
  ignoredOptions(body: SentOptions, platform: string): string[] {
    const notes: string[] = [];
    if (!isDeferred(body) && !this.#gateway.platformFeatures(platform)?.async) {
      if (body.async_mode) notes.push('async_mode_ignored: the link was extracted at once');
      if (body.force_async) notes.push('force_async_ignored: the link was extracted at once');
    }
    const declared = this.#declaredBy.get(platform);
    const isOption = (field: string) => isDocumented(field) || this.#options.has(field);
    const ignored = Object.entries(body).flatMap(([field, value]) =>
      value !== undefined && isOption(field) && !declared?.has(field) ? [field] : [],
    );
    const hasReviews = declared !== undefined && [...declared.keys()].some(isDocumented);
    if (!hasReviews && ignored.some(isDocumented)) {
      notes.push('review_options_ignored: only shop links have reviews');
    }
    const others = ignored.filter((field) => hasReviews || !isDocumented(field));
    return [...notes, ...others.map((field) => `${field}_ignored: the platform has no such option`)];
  }
}

function toError(issue: Issue | undefined, accepted: Readonly<Record<string, string>>): GatewayError {
  const [param = '', index] = issue?.path.split('.') ?? [];
  if (index === undefined || param !== 'urls') return fieldError(issue, accepted);
  return new GatewayError('invalid_value', `${param}[${index}] is no link: ${param} must be ${accepted.urls}.`, {
    param,
  });
}
