import { type Static, Type } from './typebox.js';

/**
 * The documents that extractors return, with their documented field names (service document 2.5). Unknown fields are
 * absent: no null, no empty string; `server/links/document-frame.ts` fills the public response. One schema validates,
 * types and documents.
 */

const Text = Type.String({ minLength: 1 });
const HttpsUrl = Type.String({ pattern: '^https?://', maxLength: 8192 });
const Count = Type.Integer({ minimum: 0 });
const Seconds = Type.Number({ minimum: 0 });
const Time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$' });
const strict = { additionalProperties: false } as const;
/** Platform numbers and strings as in the source, under our names. */
const RawStats = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]));

export const PrecisionSchema = Type.Union([Type.Literal('exact'), Type.Literal('rounded'), Type.Literal('hidden')]);
/** `rounded`: the platform showed "1.2M"; `hidden`: the owner hides it. */
export type Precision = Static<typeof PrecisionSchema>;

export const ProvenanceSchema = Type.Object(
  {
    /** Field (dotted, e.g. `metrics.likes`) → the method it came from. */
    sources: Type.Record(Type.String(), Type.String()),
    /** Metric → its precision. */
    precision: Type.Record(Type.String(), PrecisionSchema),
    /** `id` if a time was computed from the item's id because no source states it. */
    published_at_source: Type.Optional(Type.Literal('id')),
  },
  strict,
);
export type Provenance = Static<typeof ProvenanceSchema>;

export const MediaEntrySchema = Type.Object(
  {
    url: HttpsUrl,
    kind: Type.Union([
      Type.Literal('video'),
      Type.Literal('audio'),
      Type.Literal('image'),
      Type.Literal('subtitle'),
      Type.Literal('manifest'),
    ]),
    /** Media type without parameters. */
    mime: Type.Optional(Text),
    /** As in the media type's `codecs` parameter. */
    codecs: Type.Optional(Text),
    width: Type.Optional(Count),
    height: Type.Optional(Count),
    fps: Type.Optional(Seconds),
    /** Bits per second. */
    bitrate: Type.Optional(Count),
    /** Bytes. */
    size: Type.Optional(Count),
    duration_seconds: Type.Optional(Seconds),
    has_audio: Type.Optional(Type.Boolean()),
    has_video: Type.Optional(Type.Boolean()),
    /** The platform's own label, e.g. `720p`. */
    quality: Type.Optional(Text),
    /** BCP 47 (subtitles, audio tracks). */
    language: Type.Optional(Text),
    label: Type.Optional(Text),
    /** Machine-generated subtitles. */
    auto_generated: Type.Optional(Type.Boolean()),
    expires_at: Type.Optional(Time),
    /** What a direct fetch must have in common with ours: the address, a cookie, a referer. */
    bound_to: Type.Optional(
      Type.Array(Type.Union([Type.Literal('ip'), Type.Literal('cookie'), Type.Literal('referer')]), { minItems: 1 }),
    ),
  },
  strict,
);
export type MediaEntry = Static<typeof MediaEntrySchema>;

export const AuthorSchema = Type.Object(
  {
    id: Type.Optional(Text),
    name: Type.Optional(Text),
    /** Without a leading `@`. */
    username: Type.Optional(Text),
    url: Type.Optional(HttpsUrl),
    avatar: Type.Optional(HttpsUrl),
    verified: Type.Optional(Type.Boolean()),
  },
  strict,
);
export type Author = Static<typeof AuthorSchema>;

export const CommonSchema = Type.Object(
  {
    title: Type.Optional(Text),
    author: Type.Optional(AuthorSchema),
    /** The post's own text. */
    caption: Type.Optional(Text),
    /** The long text; if a platform has only one text, the same as the caption. */
    description: Type.Optional(Text),
    thumbnail: Type.Optional(HttpsUrl),
    published_at: Type.Optional(Time),
    duration_seconds: Type.Optional(Seconds),
    /** BCP 47. */
    language: Type.Optional(Text),
    /** Without `#`. */
    tags: Type.Optional(Type.Array(Text)),
    is_live: Type.Optional(Type.Boolean()),
    live_status: Type.Optional(
      Type.Union([Type.Literal('upcoming'), Type.Literal('live'), Type.Literal('ended'), Type.Literal('none')]),
    ),
    /** When a live item starts or was announced to start. */
    live_start_at: Type.Optional(Time),
    live_end_at: Type.Optional(Time),
    category: Type.Optional(Text),
    is_unlisted: Type.Optional(Type.Boolean()),
    is_family_safe: Type.Optional(Type.Boolean()),
    /** 18 if the platform restricts the item to adults. */
    age_limit: Type.Optional(Count),
    /** ISO 3166-1 alpha-2. */
    available_countries: Type.Optional(Type.Array(Text)),
    music: Type.Optional(
      Type.Object(
        {
          title: Type.Optional(Text),
          artist: Type.Optional(Text),
          album: Type.Optional(Text),
          url: Type.Optional(HttpsUrl),
          id: Type.Optional(Text),
        },
        strict,
      ),
    ),
    chapters: Type.Optional(Type.Array(Type.Object({ title: Text, start_seconds: Seconds }, strict))),
    /** Further channels or accounts that the platform credits besides the author. */
    collaborators: Type.Optional(Type.Array(AuthorSchema)),
    location: Type.Optional(Text),
  },
  strict,
);
export type Common = Static<typeof CommonSchema>;

export const IdsSchema = Type.Object(
  {
    video_id: Type.Optional(Text),
    post_id: Type.Optional(Text),
    shortcode: Type.Optional(Text),
    channel_id: Type.Optional(Text),
    author_id: Type.Optional(Text),
    canonical_url: Type.Optional(HttpsUrl),
  },
  strict,
);
export type Ids = Static<typeof IdsSchema>;

export const MetricsSchema = Type.Object(
  {
    /** The platform's main counter, under any name. For a running live stream: views so far, if known. */
    views: Type.Optional(Count),
    likes: Type.Optional(Count),
    comments: Type.Optional(Count),
    shares: Type.Optional(Count),
    saves: Type.Optional(Count),
    /** Also set if the platform calls them plays. */
    plays: Type.Optional(Count),
    /** People watching a live stream now. */
    concurrent_viewers: Type.Optional(Count),
    duration_seconds: Type.Optional(Seconds),
    channel_id: Type.Optional(Text),
    subscriber_count: Type.Optional(Count),
    /** Reactions by kind, if the platform lists them. */
    reactions: Type.Optional(Type.Record(Type.String(), Count)),
  },
  strict,
);
export type Metrics = Static<typeof MetricsSchema>;

export const PostMediaSchema = Type.Object(
  {
    image_urls: Type.Array(HttpsUrl),
    /** Directly playable files, best first. */
    video_urls: Type.Array(HttpsUrl),
    /** One object per media URL, including subtitles and manifests. */
    entries: Type.Optional(Type.Array(MediaEntrySchema)),
  },
  strict,
);
export type PostMedia = Static<typeof PostMediaSchema>;

/** Social and video links. */
export const PostDataSchema = Type.Object(
  {
    common: CommonSchema,
    ids: IdsSchema,
    metrics: MetricsSchema,
    media: PostMediaSchema,
    raw_stats: RawStats,
    provenance: Type.Optional(ProvenanceSchema),
  },
  strict,
);
export type PostData = Static<typeof PostDataSchema>;

const Money = Type.Number({ minimum: 0 });

export const ProductSchema = Type.Object(
  {
    product_id: Text,
    name: Type.Optional(Text),
    description: Type.Optional(Text),
    shop: Type.Optional(
      Type.Object(
        {
          id: Type.Optional(Text),
          name: Type.Optional(Text),
          url: Type.Optional(HttpsUrl),
          rating: Type.Optional(Type.Number()),
          logo: Type.Optional(HttpsUrl),
          followers: Type.Optional(Count),
          sold_count: Type.Optional(Count),
          review_count: Type.Optional(Count),
          product_count: Type.Optional(Count),
          location: Type.Optional(Text),
        },
        strict,
      ),
    ),
    price: Type.Optional(
      Type.Object(
        {
          /** In the currency's major unit. A price that the page masks is absent, never guessed. */
          amount: Type.Optional(Money),
          /** ISO 4217. */
          currency: Type.Optional(Text),
          original_amount: Type.Optional(Money),
          min: Type.Optional(Money),
          max: Type.Optional(Money),
          /** As printed on the page. */
          text: Type.Optional(Text),
          /** 0 to 100. */
          discount_percent: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
        },
        strict,
      ),
    ),
    stock: Type.Optional(Count),
    sold_count: Type.Optional(Count),
    rating: Type.Optional(
      Type.Object(
        {
          average: Type.Optional(Type.Number({ minimum: 0, maximum: 5 })),
          count: Type.Optional(Count),
          /** Stars `"1"` to `"5"` → reviews. */
          distribution: Type.Optional(Type.Record(Type.String(), Count)),
        },
        strict,
      ),
    ),
    image_urls: Type.Array(HttpsUrl),
    video_urls: Type.Array(HttpsUrl),
    url: HttpsUrl,
    region: Type.Optional(Text),
    categories: Type.Optional(Type.Array(Text)),
    specifications: Type.Optional(Type.Array(Type.Object({ name: Text, value: Text }, strict))),
    variants: Type.Optional(
      Type.Array(
        Type.Object(
          {
            id: Text,
            name: Type.Optional(Text),
            properties: Type.Optional(Type.Array(Type.Object({ name: Text, value: Text }, strict))),
            price: Type.Optional(Money),
            original_price: Type.Optional(Money),
            stock: Type.Optional(Count),
            image: Type.Optional(HttpsUrl),
          },
          strict,
        ),
      ),
    ),
    shipping: Type.Optional(
      Type.Object(
        {
          fee: Type.Optional(Money),
          free: Type.Optional(Type.Boolean()),
          name: Type.Optional(Text),
          min_days: Type.Optional(Count),
          max_days: Type.Optional(Count),
        },
        strict,
      ),
    ),
    /** One object per media URL. */
    media: Type.Optional(Type.Array(MediaEntrySchema)),
  },
  strict,
);
export type Product = Static<typeof ProductSchema>;

export const ReviewSchema = Type.Object(
  {
    id: Text,
    rating: Type.Integer({ minimum: 1, maximum: 5 }),
    text: Type.Optional(Text),
    author: Type.Optional(Text),
    created_at: Type.Optional(Time),
    likes: Type.Optional(Count),
    images: Type.Array(HttpsUrl),
    variant: Type.Optional(Text),
    /** ISO 3166-1 alpha-2. */
    country: Type.Optional(Text),
    verified_purchase: Type.Optional(Type.Boolean()),
  },
  strict,
);
export type Review = Static<typeof ReviewSchema>;

/** Shop links. */
export const ProductDataSchema = Type.Object(
  {
    product: ProductSchema,
    reviews: Type.Object({ five_star: Type.Array(ReviewSchema), one_star: Type.Array(ReviewSchema) }, strict),
    raw_stats: RawStats,
    provenance: Type.Optional(ProvenanceSchema),
  },
  strict,
);
export type ProductData = Static<typeof ProductDataSchema>;

export type ExtractionData = PostData | ProductData;

/** A whole image in memory. */
export interface Media {
  bytes: Uint8Array;
  /** Media type detected by content, e.g. `image/png`. */
  contentType: string;
}

/** The usage of a call. Absent fields are unknown, which is not zero. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  cachedTokens?: number;
  reasoningTokens?: number;
  /** Text and image tokens among the input and output tokens, if an image model reports them. */
  inputTextTokens?: number;
  inputImageTokens?: number;
  outputTextTokens?: number;
  outputImageTokens?: number;
  /** Characters billed by a speech vendor. */
  characters?: number;
  /** Seconds of audio. */
  seconds?: number;
  /** True if the numbers are estimated by the gateway rather than reported. */
  estimated?: boolean;
}
