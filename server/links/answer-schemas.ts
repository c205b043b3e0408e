/*
 * Response schemas of link data for the API reference. Fields may be added to any of them. The schemas of documents are
 * derived from those of core, where an unknown field is absent: in a response it is null, or absent if the document
 * does not require it. Parts that only a response has, such as the MP3 link or the background job, are added here.
 * Handlers do not validate answers; tests check real answers against these schemas.
 */

import {
  field,
  optional,
  PostDataSchema,
  ProductDataSchema,
  type TObject,
  type TSchema,
  Type,
} from '../../core/contracts/index.js';
import { Count, Failure, Nullable, OneOf, type RouteAnswer, Text, Time, Url } from '../http/index.js';
import { TranscriptSchema } from '../transcripts/index.js';

/** Fields that only the response has, by the document field that contains them. */
type Additions = Readonly<Record<string, Readonly<Record<string, TSchema>>>>;

/**
 * Converts a core schema, where unknown fields are absent, to the response schema, where they are null or absent.
 * Fields may be added.
 */
function framed(schema: TObject, additions: Additions = {}): TSchema {
  const required: readonly string[] = schema.required ?? [];
  const fields = Object.entries(schema.properties).map(([name, { description, examples, ...plain }]: Described) => {
    const framedSchema = frame(plain, additions[name]);
    const isCertain = required.includes(name) || additions[name] !== undefined;
    const whole = isCertain ? framedSchema : Type.Optional(Nullable(framedSchema));
    return [name, description === undefined ? whole : field(whole, description, examples?.[0])];
  });
  return Type.Object(Object.fromEntries(fields));
}

type Described = [name: string, schema: TSchema & { description?: string; examples?: readonly unknown[] }];

function frame(schema: TSchema, added: Readonly<Record<string, TSchema>> = {}): TSchema {
  if (isObject(schema)) {
    const framedSchema = framed(schema) as TObject;
    return Type.Object({ ...framedSchema.properties, ...added });
  }
  if (isRecord(schema)) {
    const [value = Type.Unknown()] = Object.values(schema.patternProperties);
    return Type.Record(Type.String(), Type.Union([value, Type.Null()]));
  }
  if (isArray(schema)) return Type.Array(frame(schema.items));
  return schema;
}

function isObject(schema: TSchema): schema is TObject {
  return 'properties' in schema;
}

function isArray(schema: TSchema): schema is TSchema & { items: TSchema } {
  return 'items' in schema;
}

function isRecord(schema: TSchema): schema is TSchema & { patternProperties: Readonly<Record<string, TSchema>> } {
  return 'patternProperties' in schema;
}

const DownloadLinks = Type.Object({
  video: field(
    Nullable(Url),
    'The video as one file with picture and sound: the best of `video_urls` that is one; with `include_media_links` a link of this gateway, to a merged video if that is better. Null if there is none.',
  ),
  mp3: field(Nullable(Url), 'The same as `audio_download_links.mp3`.'),
  archive: optional(
    Url,
    'Link of this gateway to a ZIP of all files of a carousel, without a key until `proxy_expires_at` of them. Present if `include_media_links` asked for it.',
  ),
});

const VideoDownloadLinks = Type.Object({
  mp4: optional(Url, 'The video as MP4. Absent if its tracks do not fit.'),
  webm: optional(Url, 'The video as WebM. Absent if its tracks do not fit.'),
  expires_at: field(Time, 'When the addresses stop working (RFC 3339).'),
});

const AudioDownloadLinks = Type.Object({
  mp3: field(
    Nullable(Url),
    'Address of the MP3 file at this gateway. Null if the item has no audio or it was not asked for.',
  ),
  status: field(
    Nullable(Type.Literal('generated_on_first_download')),
    'When the file is made: the first download may take some seconds. Null without an MP3.',
  ),
  content_type: field(Nullable(Type.Literal('audio/mpeg')), 'Media type of the file. Null without an MP3.'),
  expires_at: field(Nullable(Time), 'When the address stops working (RFC 3339). Null without an MP3.'),
});

const PostData = framed(PostDataSchema, {
  media: {
    download_links: field(DownloadLinks, 'One address for each kind of file.'),
    video_download_links: optional(
      VideoDownloadLinks,
      'Links of this gateway to the video with picture and sound, merged while it is sent; their query limits the height and cuts it. Present if `include_media_links` asked for it and the item has a video.',
    ),
    audio_download_links: field(AudioDownloadLinks, 'The MP3 file of a video or audio item.'),
  },
});

const Job = Type.Object({
  job_id: field(Text, 'Id of the job.', 'exjob_0123456789abcdef'),
  status: field(
    OneOf('queued', 'processing', 'completed', 'failed', 'cancelled'),
    'State of the job. `completed`, `failed` and `cancelled` are final.',
  ),
  product_id: field(Text, "The platform's id of the product or other item."),
  created_at: field(Time, 'When the job was accepted (RFC 3339).'),
  started_at: field(Nullable(Time), 'When the latest run began (RFC 3339). Null while it has not.'),
  finished_at: field(Nullable(Time), 'When the job ended (RFC 3339). Null before.'),
  attempts: field(Count, 'Runs that have begun.'),
  error: field(Nullable(Failure), 'Why the job failed. Null otherwise.'),
  status_url: field(
    Text,
    'Path to poll, relative to the address of the API.',
    '/v1/extract/jobs/exjob_0123456789abcdef',
  ),
  poll_after_seconds: field(Count, 'Recommended wait before the next poll, in seconds. 0 if the job has ended.', 3),
});
export const ListedJob = Type.Object(
  {
    ...Job.properties,
    platform: field(Text, 'Platform key.', 'vidsite'),
    url: field(Url, 'The permanent link of the item.'),
  },
  { description: 'A background job of a link, without its document.' },
);
const Queue = Type.Object({
  active: field(Count, 'Jobs that wait or run.'),
  max_active: field(Count, 'Jobs that may wait or run at a time.', 1000),
});
const NoReviews = Type.Object({
  five_star: field(Type.Array(Type.Unknown(), { maxItems: 0 }), 'Empty until the job has completed.'),
  one_star: field(Type.Array(Type.Unknown(), { maxItems: 0 }), 'Empty until the job has completed.'),
});
const PostResult = Type.Object({
  transcript: optional(
    Nullable(TranscriptSchema),
    'The words that are spoken. Null if there are none; `limitations` say why. Only with `include_transcript`.',
  ),
  ...(PostData as TObject).properties,
  job: optional(Job, 'The background job that fetched the item. Absent otherwise.'),
  queue: optional(Queue, 'How busy the queue of such jobs is. Only with a job.'),
});
const ProductResult = Type.Object({
  ...(framed(ProductDataSchema) as TObject).properties,
  job: optional(Job, 'The background job that fetched the product. Absent otherwise.'),
  queue: optional(Queue, 'How busy the queue of such jobs is. Only with a job.'),
});
const PostJobData = Type.Object({
  job: field(Job, 'The background job that fetches the item.'),
  queue: field(Queue, 'How busy the queue of such jobs is.'),
  common: field(Type.Null(), 'Null until the job has completed, as the following.'),
  ids: field(Type.Null(), 'Null until the job has completed.'),
  metrics: field(Type.Null(), 'Null until the job has completed.'),
  media: field(Type.Null(), 'Null until the job has completed.'),
});
const JobData = Type.Object({
  job: field(Job, 'The background job that fetches the product.'),
  queue: field(Queue, 'How busy the queue of such jobs is.'),
  product: field(Type.Null(), 'Null until the job has completed.'),
  reviews: field(NoReviews, 'Empty until the job has completed.'),
});

const Extraction = Type.Object(
  {
    ok: field(Type.Boolean(), 'True, unless the job has failed.'),
    platform: field(Text, 'Platform key.', 'vidsite'),
    input_url: field(Url, 'The link as sent; of a polled job, the permanent link of the item.'),
    extraction_method: field(
      Text,
      'The method, or several with `+` between them, that the data came from; `background_job` while there is none.',
      'watch_page',
    ),
    data: field(
      Type.Union([PostResult, ProductResult, JobData, PostJobData]),
      'The document of a post or video, that of a product, or a job that has not completed.',
    ),
    limitations: field(
      Type.Array(Text),
      'Notes on missing, inexact or ignored parts: a stable word, for some with a colon and details.',
      ['metadata_only'],
    ),
    limitation_messages: field(
      Type.Array(
        Type.Object({
          code: field(Text, 'The stable word.', 'metadata_only'),
          message: field(Text, 'A sentence for people, with the details.', 'No media file was found.'),
        }),
      ),
      'What each note of `limitations` means, in the same order.',
    ),
    error: optional(Failure, 'Why the job failed. Absent otherwise.'),
  },
  { description: 'The structured data of a link, or the job that fetches it.' },
);

export const EXTRACTION = { name: 'Extraction', schema: Extraction };

const BatchItem = Type.Object({
  index: field(Count, 'Position of the link in the request, from 0.'),
  url: field(Text, 'The link as sent.'),
  ok: field(Type.Boolean(), 'False if the link failed.'),
  status: field(
    OneOf('completed', 'queued', 'failed'),
    '`completed` with a document, `queued` with a job, `failed` with an error.',
  ),
  result: optional(
    Type.Unsafe({ $ref: '#/components/schemas/Extraction' }),
    'The document or the job. Absent if the link failed.',
  ),
  platform: optional(Text, 'Platform key of a link that failed, if it is known.'),
  error: optional(Failure, 'Why the link failed. Absent otherwise.'),
});

export const BATCH_ANSWER: RouteAnswer = {
  description: 'In the order of the links: a document, a job or an error.',
  name: 'Batch',
  schema: Type.Object(
    {
      ok: field(Type.Literal(true), 'Always true: each link has its own outcome.'),
      count: field(Count, 'Number of links.'),
      succeeded: field(Count, 'Links with a document.'),
      queued: field(Count, 'Links with a job.'),
      failed: field(Count, 'Links with an error.'),
      items: field(Type.Array(BatchItem), 'One for each link, in the order of the request.'),
    },
    { description: 'The outcomes of several links.' },
  ),
};

const Features = Type.Object({
  async: field(Type.Boolean(), 'Whether links can be extracted in background jobs.'),
  batch: field(Type.Boolean(), 'Whether links can be part of a batch.'),
  reviews: field(Type.Boolean(), 'Whether documents have reviews.'),
  audio_mp3: field(Type.Boolean(), 'Whether MP3 files are offered.'),
});
const Platform = Type.Object({
  key: field(Text, 'Platform key.', 'vidsite'),
  name: field(Text, 'What the platform is.'),
  link_forms: field(Type.Array(Text), 'Forms of links that are accepted.'),
  features: field(Features, 'What this gateway offers for links of the platform.'),
});
const Limits = Type.Object({
  clip_review_limit: field(
    Type.Object({
      min: field(Count, 'Smallest value.'),
      max: field(Count, 'Largest value.'),
      default: field(Count, 'Value if the field is not sent.'),
    }),
    'Range of `clip_review_limit`.',
  ),
  url_max_length: field(Count, 'Longest link, in characters.'),
  body_max_bytes: field(Count, 'Largest body of `POST /v1/extract`, in bytes.'),
  batch_max_urls: field(Count, 'Most links of a batch.'),
  batch_body_max_bytes: field(Count, 'Largest body of a batch, in bytes.'),
  max_active: field(Nullable(Count), 'Most background jobs that wait or run at a time. Null if there are none.'),
  rpm: field(Nullable(Count), 'Requests that the API key may send in 60 seconds. Null if it has no limit.'),
});

export const CAPABILITIES_ANSWER: RouteAnswer = {
  description: 'Platforms and limits.',
  name: 'Capabilities',
  schema: Type.Object(
    {
      ok: field(Type.Literal(true), 'Always true.'),
      platforms: field(Type.Array(Text), 'Keys of the platforms.', ['vidsite', 'photo']),
      details: field(Type.Array(Platform), 'The same platforms in detail.'),
      limits: field(Limits, 'Limits of requests.'),
      version: field(Text, 'Version of the API, as a date.', '2026-06-15'),
    },
    { description: 'What can be extracted, and the limits of the API key.' },
  ),
};
