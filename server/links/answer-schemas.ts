import {
  field,
  PostDataSchema,
  ProductDataSchema,
  type TObject,
  type TSchema,
  Type,
} from '../../core/contracts/index.js';
import { Count, Failure, Nullable, OneOf, type RouteAnswer, Text, Time, Url } from '../http/index.js';

/* Response schemas of link data for the API reference. Fields may be added to any of them. */

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
  video: field(Nullable(Url), 'The best video file: the first of `video_urls`. Null if there is none.'),
  mp3: field(Nullable(Url), 'The same as `audio_download_links.mp3`.'),
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
    audio_download_links: field(AudioDownloadLinks, 'The MP3 file of a video or audio item.'),
  },
});

const Job = Type.Object({
  job_id: field(Text, 'Id of the job.', 'exjob_0123456789abcdef'),
  status: field(
    OneOf('queued', 'processing', 'completed', 'failed', 'cancelled'),
    'State of the job. `completed`, `failed` and `cancelled` are final.',
  ),
  product_id: field(Text, "The platform's id of the product."),
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
const Queue = Type.Object({
  active: field(Count, 'Jobs that wait or run.'),
  max_active: field(Count, 'Jobs that may wait or run at a time.', 1000),
});
const NoReviews = Type.Object({
  five_star: field(Type.Array(Type.Object({})), 'Empty until the job has completed.'),
  one_star: field(Type.Array(Type.Object({})), 'Empty until the job has completed.'),
});
const JobData = Type.Object({
  job: field(Job, 'The background job that fetches the product.'),
  queue: field(Queue, 'How busy the queue of such jobs is.'),
  product: field(Nullable(Type.Object({})), 'Null until the job has completed.'),
  reviews: field(NoReviews, 'Empty until the job has completed.'),
});

const Extraction = Type.Object({
  ok: Type.Boolean(),
  platform: Text,
  input_url: Url,
  extraction_method: Text,
  data: Type.Union([PostData, framed(ProductDataSchema), JobData], {
    description: 'Of a post or video; of a product; of a job that is not done yet.',
  }),
  limitations: Type.Array(Type.String({ description: 'What is missing or was ignored, and why.' })),
});

export const EXTRACTION = { name: 'Extraction', schema: Extraction };

export const BATCH_ANSWER: RouteAnswer = {
  description: 'In the order of the links: a document, a job or an error.',
  name: 'Batch',
  schema: Type.Object({
    ok: Type.Literal(true),
    count: Count,
    succeeded: Count,
    queued: Count,
    failed: Count,
    items: Type.Array(
      Type.Object({
        index: Count,
        url: Text,
        ok: Type.Boolean(),
        status: OneOf('completed', 'queued', 'failed'),
        result: Type.Optional(Extraction),
        error: Type.Optional(Type.Object({ message: Text, code: Text })),
      }),
    ),
  }),
};

export const CAPABILITIES_ANSWER: RouteAnswer = {
  description: 'Platforms and limits.',
  name: 'Capabilities',
  schema: Type.Object({
    ok: Type.Literal(true),
    platforms: Type.Array(Text),
    details: Type.Array(
      Type.Object({ key: Text, name: Text, link_forms: Type.Array(Text), features: Type.Object({}) }),
    ),
    limits: Type.Object({}),
    version: Text,
  }),
};
