import { PostDataSchema, ProductDataSchema, type TObject, type TSchema, Type } from '../../core/contracts/index.js';
import { Count, Nullable, OneOf, type RouteAnswer, Text, Time, Url } from '../http/index.js';

/* Response schemas of link data for the API reference. Fields may be added to any of them. */

/** Fields that only the response has, by the document field that contains them. */
type Additions = Readonly<Record<string, Readonly<Record<string, TSchema>>>>;

/**
 * Converts a core schema, where unknown fields are absent, to the response schema, where they are null or absent.
 * Fields may be added.
 */
function framed(schema: TObject, additions: Additions = {}): TSchema {
  const required: readonly string[] = schema.required ?? [];
  const fields = Object.entries(schema.properties).map(([name, field]): [string, TSchema] => {
    const framedSchema = frame(field, additions[name]);
    const isCertain = required.includes(name) || additions[name] !== undefined;
    return [name, isCertain ? framedSchema : Type.Optional(Type.Union([framedSchema, Type.Null()]))];
  });
  return Type.Object(Object.fromEntries(fields));
}

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

const PostData = framed(PostDataSchema, {
  media: {
    download_links: Type.Object({ video: Nullable(Url), mp3: Nullable(Url) }),
    audio_download_links: Type.Object({
      mp3: Nullable(Url),
      status: Nullable(Type.Literal('generated_on_first_download')),
      content_type: Nullable(Type.Literal('audio/mpeg')),
      expires_at: Nullable(Time),
    }),
  },
});

const Job = Type.Object({
  job_id: Text,
  status: OneOf('queued', 'processing', 'completed', 'failed', 'cancelled'),
  product_id: Text,
  created_at: Time,
  started_at: Nullable(Time),
  finished_at: Nullable(Time),
  attempts: Count,
  error: Nullable(Type.Object({ message: Text, code: Text })),
  status_url: Text,
  poll_after_seconds: Count,
});
const JobData = Type.Object({
  job: Job,
  queue: Type.Object({ active: Count, max_active: Count }),
  product: Nullable(Type.Object({})),
  reviews: Type.Object({ five_star: Type.Array(Type.Object({})), one_star: Type.Array(Type.Object({})) }),
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
