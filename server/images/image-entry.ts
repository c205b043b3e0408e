import type { FinishedImage, ImageDelivery } from 'mediagate';

/** What the file is called where it is no public one: of no use to a client, who saves a picture as any other. */
const INLINE = /^inline_/;

export interface EntryOptions {
  delivery: ImageDelivery;
  /** Without a trailing slash. */
  baseUrl: string;
  /** The picture in base64; null where its time is over. */
  base64?: string | null;
}

/** One picture in `data`: as public links, in base64, or as both. */
export function encodeImageEntry(image: FinishedImage, { delivery, baseUrl, base64 = null }: EntryOptions) {
  const { name, rawName, source, contentType } = image;
  const links = {
    url: fileUrl(baseUrl, name),
    raw_url: fileUrl(baseUrl, rawName),
    filename: name,
    source,
  };
  if (delivery === 'url') return links;
  const filename = name.replace(INLINE, 'img_');
  const inline = { b64_json: base64, filename, source: 'inline', mime_type: contentType };
  return delivery === 'inline' ? inline : { ...inline, ...links };
}

function fileUrl(baseUrl: string, name: string): string {
  return `${baseUrl}/v1/images/files/${name}`;
}
