import { asNumber, asPositive, at, type MediaEntry, toIsoTime, tryParseJson } from 'mediagate';

/** Web addresses only; paths of the site are made whole. */
export function absoluteUrl(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const url = URL.parse(value, 'https://www.facebook.com/');
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

export interface AddressReading {
  expires_at?: string;
  bitrate?: number;
  duration_seconds?: number;
  quality?: string;
}

/**
 * What an address of the media hosts tells by itself: `oe` is its end in hexadecimal seconds, `efg` a piece of JSON in
 * base64 with the length and the encoding.
 */
export function readAddress(address: string): AddressReading {
  const query = URL.parse(address)?.searchParams;
  const end = query?.get('oe') ?? '';
  const efg = tryParseJson(Buffer.from(query?.get('efg') ?? '', 'base64').toString('utf8'));
  const tag = [at(efg, 'vencode_tag'), query?.get('tag')].find((one) => typeof one === 'string' && one !== '');
  const seconds = asNumber(at(efg, 'duration_s'));
  const bitrate = asNumber(query?.get('bitrate') ?? at(efg, 'bitrate'));
  return {
    expires_at: /^[0-9a-f]{8}$/i.test(end) ? toIsoTime(Number.parseInt(end, 16)) : undefined,
    bitrate: bitrate && bitrate > 0 ? Math.round(bitrate) : undefined,
    duration_seconds: seconds && seconds > 0 ? seconds : undefined,
    quality: typeof tag === 'string' ? /(?:^|[._-])(\d{3,4}p)(?:$|[._-])/.exec(tag)?.[1] : undefined,
  };
}

/** A picture; its size stands in the node or nowhere. */
export function imageEntry(url: string, width?: unknown, height?: unknown): MediaEntry {
  return {
    url,
    kind: 'image',
    width: asPositive(width),
    height: asPositive(height),
    expires_at: readAddress(url).expires_at,
  };
}

/** One entry for each address, the first of them. */
export function unique(entries: readonly MediaEntry[]): MediaEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ url }) => !seen.has(url) && seen.add(url));
}
