import type { AudioLink, ExtractionData, ExtractResult } from 'mediagate';
import { frameDocument } from './document-frame.js';

/** A document in JSON, cut where the MP3 link goes. */
interface EncodedDocument {
  before: Buffer;
  /** Undefined for documents that have no place for an MP3 link. */
  after?: Buffer;
}

/** Encoding is the dearest part of a cached answer, so what the core gives us again is not encoded again. */
const encoded = new WeakMap<object, EncodedDocument>();

export interface Additions {
  /** Added to the result's own limitations. */
  notes?: readonly string[];
  /** Stands before the members of the document, in `data`. */
  data?: object;
}

/** The extraction response (service document 2.5) in UTF-8. */
export function encodeExtraction(result: ExtractResult, { notes = [], data }: Additions = {}): Buffer {
  const head = Buffer.from(
    `{"ok":true,"platform":${JSON.stringify(result.platform)},"input_url":${JSON.stringify(result.inputUrl)},` +
      `"extraction_method":${JSON.stringify(result.method)},"data":`,
  );
  const tail = Buffer.from(`,"limitations":${JSON.stringify([...result.limitations, ...notes])}}`);
  const { before: document, after } = encodedDocument(result);
  const before = data ? joinObjects(data, document) : document;
  if (!after) return Buffer.concat([head, before, tail]);
  return Buffer.concat([head, before, Buffer.from(encodeAudioLink(result.audioLink)), after, tail]);
}

/** The encoded one has members of its own. */
function joinObjects(first: object, encodedSecond: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(first).slice(0, -1)},`), encodedSecond.subarray(1)]);
}

function encodedDocument(result: ExtractResult): EncodedDocument {
  const known = encoded.get(result.identity);
  if (known) return known;
  const made = encodeDocument(result.data);
  encoded.set(result.identity, made);
  return made;
}

function encodeDocument(data: ExtractionData): EncodedDocument {
  const framed = frameDocument(data);
  if (!('media' in framed)) return { before: Buffer.from(JSON.stringify(framed)) };
  const { common, ids, metrics, media, ...rest } = framed;
  const start = JSON.stringify({ common, ids, metrics });
  const mediaText = JSON.stringify({ ...media, download_links: { video: media.video_urls[0] ?? null } });
  return {
    // Without the braces that close download_links, media and the document.
    before: Buffer.from(`${start.slice(0, -1)},"media":${mediaText.slice(0, -2)},`),
    after: Buffer.from(`},${JSON.stringify(rest).slice(1)}`),
  };
}

/** The rest of `download_links`, and `audio_download_links`; both name the same URL. */
function encodeAudioLink(link: AudioLink | undefined): string {
  const url = JSON.stringify(link?.url ?? null);
  const details = link
    ? `"status":"generated_on_first_download","content_type":"audio/mpeg","expires_at":${JSON.stringify(link.expiresAt)}`
    : '"status":null,"content_type":null,"expires_at":null';
  return `"mp3":${url}},"audio_download_links":{"mp3":${url},${details}}`;
}
