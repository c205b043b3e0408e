import { asArray, asPositive, at, type MediaEntry } from 'mediagate';
import { absoluteUrl } from './text.js';

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
