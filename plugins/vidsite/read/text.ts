import { asArray, asPositive, asString, at, type MediaEntry } from 'mediagate';

/** The text of a node: `{simpleText}`, `{runs: [{text}]}`, `{content}` or a string. Undefined if it is blank. */
export function textOf(value: unknown): string | undefined {
  const whole = asString(value) ?? asString(at(value, 'simpleText')) ?? asString(at(value, 'content'));
  const text =
    whole ??
    asArray(at(value, 'runs'))
      ?.map((run) => asString(at(run, 'text')) ?? '')
      .join('');
  return text?.trim() ? text : undefined;
}

/** The label of a node for screen readers. */
export function accessibilityLabel(value: unknown): string | undefined {
  return (
    asString(at(value, 'accessibility', 'accessibilityData', 'label')) ??
    asString(at(value, 'accessibilityData', 'accessibilityData', 'label')) ??
    asString(at(value, 'accessibilityData', 'label')) ??
    asString(at(value, 'accessibility', 'label'))
  );
}

const PLAIN_ADDRESS = /^https:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[/?#]|$)/;

/** The absolute https URL for a URL that may lack scheme or host, or be http. */
export function absoluteUrl(value: unknown): string | undefined {
  const text = asString(value)?.trim();
  if (!text) return undefined;
  // Nearly all are absolute already, and URL objects for a hundred media URLs would be slow.
  if (PLAIN_ADDRESS.test(text) && !text.includes(' ')) return text;
  if (!URL.canParse(text, 'https://www.youtube.com')) return undefined;
  const url = new URL(text, 'https://www.youtube.com');
  if (url.protocol === 'http:') url.protocol = 'https:';
  return url.protocol === 'https:' ? url.href : undefined;
}

const CHANNEL_ID = /^UC[0-9A-Za-z_-]{22}$/;

/** The value if it is a channel id. */
export function channelId(value: unknown): string | undefined {
  const text = asString(value);
  return text && CHANNEL_ID.test(text) ? text : undefined;
}

/** The handle or old user name in a channel's URL; `/channel/` and `/c/` URLs have none. */
export function usernameIn(address: unknown): string | undefined {
  const name = /(?:^|youtube\.com)\/(?:@|user\/)([^/?#]+)/.exec(asString(address) ?? '')?.[1];
  if (!name) return undefined;
  try {
    return decodeURIComponent(name);
  } catch {
    // A stray percent sign: the name is not encoded.
    return name;
  }
}

/** The video id in a URL of a video or its picture (`/watch?v=`, `/embed/`, `/shorts/`, `/vi/`). */
export function videoIdIn(address: unknown): string | undefined {
  const pattern = /(?:[?&]v=|\/(?:embed|shorts|live|v|vi|vi_webp)\/)([0-9A-Za-z_-]{11})(?![0-9A-Za-z_-])/;
  return pattern.exec(asString(address) ?? '')?.[1];
}

/** The pictures of lists like `[{url, width, height}]`, largest first, each URL once. */
export function parseImages(...lists: readonly unknown[]): MediaEntry[] {
  const images = new Map<string, MediaEntry>();
  for (const item of lists.flatMap((list) => asArray(list) ?? [])) {
    const url = absoluteUrl(at(item, 'url'));
    if (!url || images.has(url)) continue;
    const width = asPositive(at(item, 'width'));
    const height = asPositive(at(item, 'height'));
    images.set(url, { url, kind: 'image', ...(width && { width }), ...(height && { height }) });
  }
  return [...images.values()].sort((one, other) => area(other) - area(one));
}

/** The URL of the largest picture of a list. */
export function largestImage(list: unknown): string | undefined {
  return parseImages(list)[0]?.url;
}

function area({ width = 0, height = 0 }: MediaEntry): number {
  return width * height;
}
