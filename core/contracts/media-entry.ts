/*
 * One media file of a document: its format, its address and what that needs, and what this gateway adds on request. Its
 * basic types are those of all documents.
 */

import { field, optional, type Static, Type } from './typebox.js';

export const Text = Type.String({ minLength: 1 });
export const HttpsUrl = Type.String({ pattern: '^https?://', maxLength: 8192 });
export const Count = Type.Integer({ minimum: 0 });
export const Seconds = Type.Number({ minimum: 0 });
export const Time = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
});
export const Flag = Type.Boolean();
export const strict = { additionalProperties: false } as const;

export const MediaEntrySchema = Type.Object(
  {
    url: field(HttpsUrl, 'Address of the file. It may expire: see `expires_at` and `bound_to`.'),
    kind: field(
      Type.Union([
        Type.Literal('video'),
        Type.Literal('audio'),
        Type.Literal('image'),
        Type.Literal('subtitle'),
        Type.Literal('manifest'),
      ]),
      'What the file is. A `manifest` lists the parts of a stream (HLS or DASH).',
      'video',
    ),
    mime: optional(Text, 'Media type without parameters.', 'video/mp4'),
    codecs: optional(Text, "Codecs, as in the media type's `codecs` parameter.", 'avc1.640028, mp4a.40.2'),
    width: optional(Count, 'Width in pixels.', 1080),
    height: optional(Count, 'Height in pixels.', 1920),
    fps: optional(Seconds, 'Frames per second.', 30),
    bitrate: optional(Count, 'Bit rate in bits per second.', 1_250_000),
    size: optional(Count, 'Size in bytes.', 4_718_592),
    duration_seconds: optional(Seconds, 'Duration in seconds.', 31.4),
    has_audio: optional(Flag, 'Whether a video has an audio track. Absent if it is not known.', true),
    has_video: optional(Flag, 'Whether the file has a video track. Absent if it is not known.', true),
    quality: optional(Text, "The platform's own label of the quality.", '720p'),
    language: optional(Text, 'Language of a subtitle or audio track (BCP 47).', 'en'),
    label: optional(
      Text,
      'Name of the file: of a subtitle track, or a note such as `cover`, `music` or `watermarked`.',
    ),
    auto_generated: optional(Flag, 'Whether a subtitle is machine-generated.', true),
    expires_at: optional(
      Time,
      'When the address stops working (RFC 3339). Absent if the address does not show it.',
      '2026-07-31T07:27:16Z',
    ),
    bound_to: optional(
      Type.Array(Type.Union([Type.Literal('ip'), Type.Literal('cookie'), Type.Literal('referer')]), { minItems: 1 }),
      'What a direct download needs to share with this gateway: its IP address (`ip`), its cookies (`cookie`), or a `Referer` header of the platform (`referer`). Absent if it needs nothing.',
      ['referer'],
    ),
    verified_at: optional(
      Time,
      'When the first bytes of the file, and some past its first minute, could be fetched (RFC 3339). Present if `verify_media` asked for it; files beyond the first twelve are not asked for.',
      '2026-06-15T11:50:04Z',
    ),
    verification_error: optional(
      Type.Object(
        {
          code: field(Text, 'Error code.', 'media_unavailable'),
          message: field(Text, 'What happened, in one sentence.', 'The source refused the file with status 403.'),
        },
        strict,
      ),
      'Why the file could not be fetched when `verify_media` asked for it.',
    ),
    proxy_url: optional(
      Text,
      'Link of this gateway to the file, which plays and downloads anywhere without a key. Present if `include_media_links` asked for it; a `manifest` has none.',
      'https://gateway.example.com/v1/media/…',
    ),
    proxy_expires_at: optional(Time, 'When `proxy_url` stops working (RFC 3339).', '2026-06-15T17:50:00Z'),
    subtitle_urls: optional(
      Type.Object(
        {
          vtt: field(Text, 'As WebVTT.', 'https://gateway.example.com/v1/extract/subtitles/….vtt'),
          srt: field(Text, 'As SubRip.', 'https://gateway.example.com/v1/extract/subtitles/….srt'),
          txt: field(Text, 'As text without times.', 'https://gateway.example.com/v1/extract/subtitles/….txt'),
        },
        strict,
      ),
      'Links of this gateway to a subtitle track, in three formats. They expire with `proxy_url`.',
    ),
  },
  strict,
);
export type MediaEntry = Static<typeof MediaEntrySchema>;
