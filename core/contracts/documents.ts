/*
 * The documents that extractors return, with their public field names. One schema validates them, types them and
 * documents them: OpenAPI and `docs/reference/document.md` show the descriptions and examples. Unknown values are
 * absent: no null, no empty string, no zero for a counter that is not shown. The schemas allow no other fields, so a
 * field that is not declared here cannot reach a client; `server/links/answers.ts` fills the public response. The file
 * also has the usage of a call, where absent means unknown.
 */

import { Count, Flag, HttpsUrl, MediaEntrySchema, Seconds, strict, Text, Time } from './media-entry.js';
import { field, optional, type Static, Type } from './typebox.js';

const RawStats = field(
  Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  'Further numbers and short texts as the platform states them, by name; the names differ between platforms and may change.',
  { diggCount: 48231 },
);

export const PrecisionSchema = Type.Union([Type.Literal('exact'), Type.Literal('rounded'), Type.Literal('hidden')]);
/** `rounded`: the platform showed "1.2M"; `hidden`: the owner hides it. */
export type Precision = Static<typeof PrecisionSchema>;

export const ProvenanceSchema = Type.Object(
  {
    sources: field(
      Type.Record(Type.String(), Type.String()),
      'The method that each field came from, by the dotted name of the field.',
      { 'metrics.likes': 'watch_page' },
    ),
    precision: field(
      Type.Record(Type.String(), PrecisionSchema),
      'The precision of each metric, by its name: `exact`, `rounded` if the platform shows a short form such as 1.2M, or `hidden` if the owner hides it.',
      { views: 'exact', likes: 'rounded' },
    ),
    published_at_source: optional(
      Type.Literal('id'),
      '`id` if `published_at` was computed from the id of the item, because no source states it; it may be a few minutes early. Otherwise absent.',
      'id',
    ),
  },
  strict,
);
export type Provenance = Static<typeof ProvenanceSchema>;

export const AuthorSchema = Type.Object(
  {
    id: optional(Text, "The platform's id of the account.", 'UCinventedchannel0000001'),
    name: optional(Text, 'Display name.', 'Weir Diary'),
    username: optional(Text, 'User name, without a leading `@`.', 'weir.diary'),
    url: optional(HttpsUrl, 'Address of the profile or channel.', 'https://www.example.com/weir.diary/'),
    avatar: optional(HttpsUrl, 'Address of the profile picture. It may expire.'),
    verified: optional(Flag, 'Whether the platform marks the account as verified. Absent if it is not known.', true),
  },
  strict,
);
export type Author = Static<typeof AuthorSchema>;

const MusicSchema = Type.Object(
  {
    title: optional(Text, 'Title of the track.', 'Low Water'),
    artist: optional(Text, 'Artist of the track.', 'The Sluices'),
    album: optional(Text, 'Album of the track.'),
    url: optional(HttpsUrl, 'Address of an audio file of the track. It may expire.'),
    id: optional(Text, "The platform's id of the track.", '1128000000000091'),
  },
  strict,
);

const ChapterSchema = Type.Object(
  {
    title: field(Text, 'Title of the chapter.', 'Opening the gates'),
    start_seconds: field(Seconds, 'Start of the chapter in seconds.', 95),
  },
  strict,
);

export const CommonSchema = Type.Object(
  {
    title: optional(Text, 'Title of the item; the first line of the text where a platform has no titles.'),
    author: optional(AuthorSchema, 'The account that published the item.'),
    caption: optional(Text, 'The text that the author wrote with the item.'),
    description: optional(Text, 'The long text of the item; the same as `caption` if the platform has only one text.'),
    thumbnail: optional(HttpsUrl, 'Address of the preview picture. It may expire.'),
    published_at: optional(
      Time,
      'When the item was published (RFC 3339). See `provenance.published_at_source` for its origin.',
      '2026-05-04T06:32:42Z',
    ),
    duration_seconds: optional(Seconds, 'Duration of the video or audio in seconds. Absent for pictures.', 31.4),
    language: optional(Text, 'Language of the item (BCP 47).', 'en'),
    tags: optional(Type.Array(Text), 'Hashtags and keywords, without `#`.', ['slowwater', 'RiverMorning']),
    is_live: optional(Flag, 'Whether the item is a live stream that runs now.', false),
    live_status: optional(
      Type.Union([Type.Literal('upcoming'), Type.Literal('live'), Type.Literal('ended'), Type.Literal('none')]),
      'State of the live stream: `upcoming` (announced), `live`, `ended` (a recording), or `none` if the item is no live stream.',
      'none',
    ),
    live_start_at: optional(Time, 'When a live stream started, or is announced to start (RFC 3339).'),
    live_end_at: optional(Time, 'When a live stream ended (RFC 3339).'),
    category: optional(Text, "The platform's category of the item.", 'Education'),
    is_unlisted: optional(Flag, 'Whether the item is hidden from search and reached only by its link.', false),
    is_family_safe: optional(Flag, 'Whether the platform rates the item as suitable for everyone.', true),
    age_limit: optional(Count, 'Minimum age in years: 18 if the platform restricts the item to adults.', 18),
    available_countries: optional(
      Type.Array(Text),
      'Countries in which the item can be seen (ISO 3166-1 alpha-2). Absent if the platform states none.',
      ['DE', 'FR'],
    ),
    music: optional(MusicSchema, 'The music that the item uses, if the platform names it.'),
    chapters: optional(Type.Array(ChapterSchema), 'Chapters of a video, in order.'),
    collaborators: optional(Type.Array(AuthorSchema), 'Further accounts that the platform credits besides the author.'),
    location: optional(Text, 'The place that the author named.', 'Weir of Lathum'),
  },
  strict,
);
export type Common = Static<typeof CommonSchema>;

export const IdsSchema = Type.Object(
  {
    video_id: optional(Text, "The platform's id of the video.", 'dQw4w9WgXcQ'),
    post_id: optional(Text, "The platform's id of the post.", '3889429926361756743'),
    shortcode: optional(Text, 'The id in the link, if it differs from the id of the post.', 'DX6B-kzkPRH'),
    channel_id: optional(Text, "The platform's id of the channel.", 'UCinventedchannel0000001'),
    author_id: optional(Text, "The platform's id of the author.", '58000000011'),
    canonical_url: optional(
      HttpsUrl,
      'The permanent link of the item, without tracking parameters.',
      'https://www.example.com/p/DX6B-kzkPRH/',
    ),
  },
  strict,
);
export type Ids = Static<typeof IdsSchema>;

export const MetricsSchema = Type.Object(
  {
    views: optional(
      Count,
      "The platform's main counter of views, under any name. For a running live stream: views so far, if known.",
      1_204_377,
    ),
    likes: optional(Count, 'Likes, or all reactions where a platform has several kinds.', 48_231),
    comments: optional(Count, 'Comments.', 612),
    shares: optional(Count, 'Shares or reposts.', 903),
    saves: optional(Count, 'How often the item was saved or bookmarked.', 1_530),
    plays: optional(Count, 'The same counter as `views`, if the platform calls it plays.', 1_204_377),
    concurrent_viewers: optional(Count, 'People who watch a live stream now.', 2_310),
    duration_seconds: optional(Seconds, 'The same as `common.duration_seconds`.', 31.4),
    channel_id: optional(Text, 'The same as `ids.channel_id`.', 'UCinventedchannel0000001'),
    subscriber_count: optional(Count, 'Subscribers or followers of the author.', 2_410_000),
    reactions: optional(
      Type.Record(Type.String(), Count),
      'Reactions by kind, if the platform lists them; the names are those of the platform.',
      { like: 900, love: 120 },
    ),
  },
  strict,
);
export type Metrics = Static<typeof MetricsSchema>;

export const PostMediaSchema = Type.Object(
  {
    image_urls: field(
      Type.Array(HttpsUrl),
      'Pictures in order: those of a carousel, or the preview picture of a video.',
    ),
    video_urls: field(Type.Array(HttpsUrl), 'Directly playable video files, best first.'),
    entries: optional(
      Type.Array(MediaEntrySchema),
      'One object for each media file, with its format and expiry; also subtitles, audio tracks and manifests.',
    ),
  },
  strict,
);
export type PostMedia = Static<typeof PostMediaSchema>;

/** Social and video links. */
export const PostDataSchema = Type.Object(
  {
    common: field(CommonSchema, 'What the item is: texts, author, times.'),
    ids: field(IdsSchema, 'Ids of the item, as text, since most exceed the exact numbers of JavaScript.'),
    metrics: field(MetricsSchema, 'Counters. A counter that the platform does not show is absent, never zero.'),
    media: field(PostMediaSchema, 'Addresses of the media files.'),
    raw_stats: RawStats,
    provenance: optional(ProvenanceSchema, 'Where the fields came from, and how precise the counters are.'),
  },
  strict,
);
export type PostData = Static<typeof PostDataSchema>;

const Money = Type.Number({ minimum: 0 });

const ShopSchema = Type.Object(
  {
    id: optional(Text, "The platform's id of the shop.", '7495794203056835079'),
    name: optional(Text, 'Name of the shop.', 'Harbour Supplies'),
    url: optional(HttpsUrl, 'Address of the page of the shop.'),
    rating: optional(Type.Number(), 'Average rating of the shop, in stars from 0 to 5.', 4.7),
    logo: optional(HttpsUrl, 'Address of the logo. It may expire.'),
    followers: optional(Count, 'Followers of the shop.', 12_400),
    sold_count: optional(Count, 'Items that the shop has sold.', 58_000),
    review_count: optional(Count, 'Reviews of the products of the shop.', 3_120),
    product_count: optional(Count, 'Products that the shop sells now.', 46),
    location: optional(Text, 'Country or place of the seller.', 'US'),
  },
  strict,
);

const PriceSchema = Type.Object(
  {
    amount: optional(
      Money,
      "Price now, in the currency's major unit; the lowest one if variants differ. A price that the page masks is absent, never guessed.",
      12.99,
    ),
    currency: optional(Text, 'Currency of all amounts (ISO 4217).', 'USD'),
    original_amount: optional(Money, "Price before the discount, in the currency's major unit.", 24.99),
    min: optional(Money, "Lowest price of the variants, in the currency's major unit.", 12.99),
    max: optional(Money, "Highest price of the variants, in the currency's major unit.", 15.99),
    text: optional(Text, 'The price as the page prints it, also if it is masked.', '$12.99'),
    discount_percent: optional(Type.Number({ minimum: 0, maximum: 100 }), 'Discount in percent, from 0 to 100.', 48),
  },
  strict,
);

const RatingSchema = Type.Object(
  {
    average: optional(Type.Number({ minimum: 0, maximum: 5 }), 'Average rating, in stars from 0 to 5.', 4.6),
    count: optional(Count, 'Number of ratings.', 1_893),
    distribution: optional(Type.Record(Type.String(), Count), 'Number of ratings by stars, from `"1"` to `"5"`.', {
      1: 40,
      2: 21,
      3: 88,
      4: 310,
      5: 1_434,
    }),
  },
  strict,
);

const NamedValueSchema = Type.Object(
  { name: field(Text, 'Name of the property.', 'Colour'), value: field(Text, 'Value of the property.', 'Navy') },
  strict,
);

const VariantSchema = Type.Object(
  {
    id: field(Text, "The platform's id of the variant.", '1729382259361649911'),
    name: optional(Text, 'Name of the variant.', 'Navy, 2 m'),
    properties: optional(Type.Array(NamedValueSchema), 'What the variant differs in.'),
    price: optional(Money, "Price now, in the currency's major unit. Absent if the page masks it.", 12.99),
    original_price: optional(Money, "Price before the discount, in the currency's major unit.", 24.99),
    stock: optional(Count, 'Items in stock.', 120),
    image: optional(HttpsUrl, 'Address of the picture of the variant.'),
  },
  strict,
);

const ShippingSchema = Type.Object(
  {
    fee: optional(Money, "Shipping fee, in the currency's major unit.", 4.99),
    free: optional(Flag, 'Whether shipping is free.', true),
    name: optional(Text, 'Name of the shipping method.', 'Standard shipping'),
    min_days: optional(Count, 'Shortest delivery time in days.', 3),
    max_days: optional(Count, 'Longest delivery time in days.', 7),
  },
  strict,
);

export const ProductSchema = Type.Object(
  {
    product_id: field(Text, "The platform's id of the product.", '1729382256910270976'),
    name: optional(Text, 'Name of the product.', 'Mooring rope'),
    description: optional(Text, 'Description of the product as plain text.'),
    shop: optional(ShopSchema, 'The shop that sells the product.'),
    price: optional(PriceSchema, 'Prices. They may differ between regions: see `region`.'),
    stock: optional(Count, 'Items in stock, all variants together.', 348),
    sold_count: optional(Count, 'Items sold, all variants together.', 5_204),
    rating: optional(RatingSchema, 'Ratings of the product.'),
    image_urls: field(Type.Array(HttpsUrl), 'Pictures of the product, in order.'),
    video_urls: field(Type.Array(HttpsUrl), 'Videos of the product, best quality first.'),
    url: field(HttpsUrl, 'The permanent link of the product, without tracking parameters.'),
    region: optional(Text, 'Country whose page was read (ISO 3166-1 alpha-2).', 'US'),
    categories: optional(Type.Array(Text), 'Categories, the widest first.', ['Sports & Outdoor', 'Boating']),
    specifications: optional(Type.Array(NamedValueSchema), 'Technical details as the page lists them.'),
    variants: optional(Type.Array(VariantSchema), 'Variants with their own price and stock, such as sizes.'),
    shipping: optional(ShippingSchema, 'Shipping to the region of the page.'),
    media: optional(
      Type.Array(MediaEntrySchema),
      'One object for each media file, with its format and expiry; also videos of creators.',
    ),
  },
  strict,
);
export type Product = Static<typeof ProductSchema>;

export const ReviewSchema = Type.Object(
  {
    id: field(Text, "The platform's id of the review.", '7412508293846190891'),
    rating: field(Type.Integer({ minimum: 1, maximum: 5 }), 'Stars, from 1 to 5.', 5),
    text: optional(Text, 'Text of the review. Absent if it has none.', 'Strong and soft.'),
    author: optional(Text, 'Name of the reviewer as the platform shows it; usually masked.', 'm**a'),
    created_at: optional(Time, 'When the review was written (RFC 3339).', '2026-05-04T06:32:42Z'),
    likes: optional(Count, 'How many people found the review helpful.', 3),
    images: field(Type.Array(HttpsUrl), 'Pictures of the review.'),
    variant: optional(Text, 'The variant that was bought.', 'Navy, 2 m'),
    country: optional(Text, 'Country of the reviewer (ISO 3166-1 alpha-2).', 'US'),
    verified_purchase: optional(Flag, 'Whether the platform confirms the purchase.', true),
  },
  strict,
);
export type Review = Static<typeof ReviewSchema>;

const ReviewsSchema = Type.Object(
  {
    five_star: field(Type.Array(ReviewSchema), 'Reviews with 5 stars, at most `clip_review_limit`.'),
    one_star: field(Type.Array(ReviewSchema), 'Reviews with 1 star, at most `clip_review_limit`.'),
  },
  strict,
);

/** Shop links. */
export const ProductDataSchema = Type.Object(
  {
    product: field(ProductSchema, 'The product.'),
    reviews: field(ReviewsSchema, 'The best and the worst reviews.'),
    raw_stats: RawStats,
    provenance: optional(ProvenanceSchema, 'Where the fields came from, and how precise the counters are.'),
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
  /** Input tokens that the vendor took from its cache, and those that it wrote to it. Both are part of the input. */
  cachedTokens?: number;
  cacheWriteTokens?: number;
  /** Tokens written to the cache for an hour, among `cacheWriteTokens`. */
  cacheWriteLongTokens?: number;
  reasoningTokens?: number;
  /** Text and image tokens among the input and output tokens, if an image model reports them. */
  inputTextTokens?: number;
  inputImageTokens?: number;
  outputTextTokens?: number;
  outputImageTokens?: number;
  /** Tokens of audio among the input and output tokens. */
  inputAudioTokens?: number;
  outputAudioTokens?: number;
  /** Searches in the web that the vendor made. */
  webSearches?: number;
  /** Service tier in which the vendor answered, if it is not the usual one: `flex`, `priority`. */
  serviceTier?: string;
  /** Characters billed by a speech vendor. */
  characters?: number;
  /** Seconds of audio. */
  seconds?: number;
  /** True if the numbers are estimated by the gateway rather than reported. */
  estimated?: boolean;
}
