import { ERROR_CODES, PostDataSchema, ProductDataSchema, type TObject, type TSchema, Type } from 'mediagate';

/** What the routes answer with, by the name it has in the document. Members may be added to any of them. */

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const Text = Type.String();
const Count = Type.Integer({ minimum: 0 });
const Time = Type.String({ description: 'RFC 3339, UTC' });
const Url = Type.String({ description: 'An address' });
const one = (...values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)));

const ErrorBody = Type.Object({
  message: Type.String({ description: 'For people: what went wrong and what to do.' }),
  type: Type.String({ description: 'The class of the error; clients of OpenAI go by it.' }),
  param: Nullable(Type.String({ description: 'The member of the request that is to blame.' })),
  code: one(...ERROR_CODES),
  request_id: Type.Optional(Text),
  retryable: Type.Optional(Type.Boolean()),
  reason: Type.Optional(Text),
  attempts: Type.Optional(Type.Array(Type.Object({ rung: Text, outcome: Text, ms: Type.Number() }))),
});

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
  status: one('queued', 'processing', 'completed', 'failed', 'cancelled'),
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

const Submitted = {
  id: Text,
  status: one('queued', 'generating', 'completed', 'failed', 'cancelled'),
  status_url: Text,
  poll_after_seconds: Count,
  requested: Type.Literal(1),
  succeeded: Count,
  failed: Count,
  pending: Count,
};
const ImageEntry = Type.Object({
  url: Type.Optional(Url),
  raw_url: Type.Optional(Url),
  filename: Text,
  source: one('local_cache', 'objstore_s3', 'objstore_r2', 'inline'),
  b64_json: Type.Optional(Nullable(Text)),
  mime_type: Type.Optional(Text),
});

const Model = Type.Object({
  id: Text,
  object: Type.Literal('model'),
  created: Count,
  owned_by: Text,
});

/** As an upstream answers it: the gateway passes it on. */
const passedOn = (description: string) => Type.Object({ id: Text, object: Text, model: Text }, { description });

export const ANSWER_SCHEMAS = {
  Error: Type.Object(
    {
      error: ErrorBody,
      ok: Type.Optional(Type.Literal(false, { description: 'On routes of link data.' })),
      platform: Type.Optional(Text),
      input_url: Type.Optional(Text),
      loginUrl: Type.Optional(Type.String({ description: 'Where nobody is signed in: where to.' })),
      instruction: Type.Optional(Text),
    },
    { description: 'Why a request was refused or failed.' },
  ),
  Extraction,
  Batch: Type.Object({
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
        status: one('completed', 'queued', 'failed'),
        result: Type.Optional(Extraction),
        error: Type.Optional(Type.Object({ message: Text, code: Text })),
      }),
    ),
  }),
  Capabilities: Type.Object({
    ok: Type.Literal(true),
    platforms: Type.Array(Text),
    details: Type.Array(
      Type.Object({ key: Text, name: Text, link_forms: Type.Array(Text), features: Type.Object({}) }),
    ),
    limits: Type.Object({}),
    version: Text,
  }),
  ImageSubmission: Type.Object(Submitted, { additionalProperties: false }),
  ImageJob: Type.Object({
    ...Submitted,
    progress: Type.Object({ completed: Count, total: Count, percent: Count }),
    data: Type.Array(ImageEntry),
    items: Type.Array(Type.Object({ index: Count, status: Text, attempts: Count })),
    error: Nullable(Type.Object({ message: Text, code: Text, retryable: Type.Boolean() })),
    created_at: Time,
    started_at: Nullable(Time),
    finished_at: Nullable(Time),
    expires_at: Nullable(Time),
    queue_position: Type.Optional(Count),
  }),
  WebhookSecret: Type.Object({ secret: Type.String({ pattern: '^whsec_' }) }),
  WebhookEvent: Type.Object(
    {
      type: one('image.job.completed', 'image.job.failed', 'image.job.cancelled'),
      timestamp: Time,
      data: Type.Unsafe({ $ref: '#/components/schemas/ImageJob' }),
    },
    { description: 'A job that has ended, as it is polled; pictures are links, never base64.' },
  ),
  ImageResult: Type.Object({
    created: Count,
    data: Type.Array(ImageEntry, { minItems: 1, maxItems: 1 }),
    requested: Type.Literal(1),
    succeeded: Type.Literal(1),
    failed: Type.Literal(0),
    usage: Type.Optional(
      Type.Object({
        input_tokens: Type.Optional(Count),
        output_tokens: Type.Optional(Count),
        total_tokens: Type.Optional(Count),
        input_tokens_details: Type.Optional(Type.Object({})),
        output_tokens_details: Type.Optional(Type.Object({})),
      }),
    ),
  }),
  Model,
  ModelList: Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) }),
  ChatCompletion: passedOn("A chat completion in OpenAI's format."),
  Response: passedOn("A response in OpenAI's format."),
  Message: Type.Object(
    {
      id: Text,
      type: Type.Literal('message'),
      role: Type.Literal('assistant'),
      model: Text,
      content: Type.Array(Type.Object({ type: one('text', 'thinking', 'tool_use') })),
      stop_reason: Nullable(one('end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal')),
      stop_sequence: Nullable(Text),
      usage: Type.Object({ input_tokens: Count, cache_read_input_tokens: Count, output_tokens: Count }),
    },
    { description: "A message in Anthropic's format." },
  ),
  MessageError: Type.Object(
    {
      type: Type.Literal('error'),
      error: Type.Object({ type: Text, message: Text }),
      request_id: Text,
    },
    { description: "Why a request in Anthropic's format was refused or failed." },
  ),
  Transcript: Type.Object({
    text: Text,
    usage: Type.Optional(Type.Object({ type: Type.Literal('duration'), seconds: Type.Number() })),
  }),
  Usage: Type.Object({
    object: Type.Literal('usage'),
    key: Type.Object({ id: Text, name: Text, plan: Nullable(Text), grants: Type.Array(Text) }),
    window: Nullable(Type.Object({ limit: Nullable(Count), seconds: Count, families: Type.Object({}) })),
    budget: Nullable(Type.Object({})),
    from: Text,
    to: Text,
    total: Type.Object({ requests: Count, failed: Count }),
    days: Type.Array(Type.Object({ day: Text, requests: Count })),
  }),
  Health: Type.Object({ ok: Type.Boolean(), status: Text }),
} as const satisfies Readonly<Record<string, TSchema>>;

export type AnswerName = keyof typeof ANSWER_SCHEMAS;

/** A schema of the document by its name. */
export function answerSchema(name: AnswerName): TSchema {
  return { $ref: `#/components/schemas/${name}` } as TSchema;
}

/** Members that the wire adds, by the member of the document that they are put into. */
type Additions = Readonly<Record<string, Readonly<Record<string, TSchema>>>>;

/**
 * A schema of the core, in which absent is absent, as the wire shows it: what is unknown is null, or not there. Members may be
 * added.
 */
function framed(schema: TObject, additions: Additions = {}): TSchema {
  const required: readonly string[] = schema.required ?? [];
  const members = Object.entries(schema.properties).map(([name, member]): [string, TSchema] => {
    const shown = frame(member, additions[name]);
    const isCertain = required.includes(name) || additions[name] !== undefined;
    return [name, isCertain ? shown : Type.Optional(Type.Union([shown, Type.Null()]))];
  });
  return Type.Object(Object.fromEntries(members));
}

function frame(schema: TSchema, added: Readonly<Record<string, TSchema>> = {}): TSchema {
  if (isObject(schema)) {
    const shown = framed(schema) as TObject;
    return Type.Object({ ...shown.properties, ...added });
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
