import { asArray, asPositive, asString, at, type MediaEntry } from 'mediagate';

/** A text as the site's replies hold it: `{simpleText}`, `{runs: [{text}]}`, `{content}`, or the text itself. */
export function shownText(value: unknown): string | undefined {
  const whole = asString(value) ?? asString(at(value, 'simpleText')) ?? asString(at(value, 'content'));
  const text =
    whole ??
    asArray(at(value, 'runs'))
      ?.map((run) => asString(at(run, 'text')) ?? '')
      .join('');
  return text?.trim() ? text : undefined;
}

/** What a screen reader would say of a node. */
export function spokenLabel(value: unknown): string | undefined {
  return (
    asString(at(value, 'accessibility', 'accessibilityData', 'label')) ??
    asString(at(value, 'accessibilityData', 'accessibilityData', 'label')) ??
    asString(at(value, 'accessibilityData', 'label')) ??
    asString(at(value, 'accessibility', 'label'))
  );
}

const PLAIN_ADDRESS = /^https:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[/?#]|$)/;

/** An absolute https URL of one that may lack its scheme or host, or be plain http. */
export function absoluteUrl(value: unknown): string | undefined {
  const text = asString(value)?.trim();
  if (!text) return undefined;
  // Nearly all need no putting right, and making URL objects of a hundred media addresses would be felt.
  if (PLAIN_ADDRESS.test(text) && !text.includes(' ')) return text;
  if (!URL.canParse(text, 'https://www.youtube.com')) return undefined;
  const url = new URL(text, 'https://www.youtube.com');
  if (url.protocol === 'http:') url.protocol = 'https:';
  return url.protocol === 'https:' ? url.href : undefined;
}

const CHANNEL_ID = /^UC[0-9A-Za-z_-]{22}$/;

/** A channel's id, where the value is one. */
export function channelId(value: unknown): string | undefined {
  const text = asString(value);
  return text && CHANNEL_ID.test(text) ? text : undefined;
}

/** The handle or the old user name in a channel's address; `/channel/` and `/c/` addresses have none. */
export function usernameIn(address: unknown): string | undefined {
  const name = /(?:^|youtube\.com)\/(?:@|user\/)([^/?#]+)/.exec(asString(address) ?? '')?.[1];
  if (!name) return undefined;
  try {
    return decodeURIComponent(name);
  } catch {
    // A stray percent sign: the name as it stands is still the name.
    return name;
  }
}

/** An item's id in one of its addresses (`/watch?v=`, `/embed/`, `/shorts/`, `/vi/`). */
export function videoIdIn(address: unknown): string | undefined {
  const pattern = /(?:[?&]v=|\/(?:embed|shorts|live|v|vi|vi_webp)\/)([0-9A-Za-z_-]{11})(?![0-9A-Za-z_-])/;
  return pattern.exec(asString(address) ?? '')?.[1];
}

/** Pictures of lists like `[{url, width, height}]`, largest first, each address once. */
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

/** The address of the largest picture of a list. */
export function largestImage(list: unknown): string | undefined {
  return parseImages(list)[0]?.url;
}

function area({ width = 0, height = 0 }: MediaEntry): number {
  return width * height;
}
