import type { LinkMatch } from 'mediagate';

const HOSTS = new Set(['reelbox.example', 'www.reelbox.example', 'm.reelbox.example']);
const CLIP = /^\/(?:clip|c)\/([A-Za-z0-9]{10})\/?$/;

/** What the first segment of a path that is no clip stands for. */
const OTHER_KINDS: Readonly<Record<string, string>> = { user: 'a profile', list: 'a playlist', search: 'a search' };

/** Hosts are compared whole: a suffix test would let `reelbox.example.evil.example` through. */
export function matchLink(url: URL): LinkMatch {
  if (!HOSTS.has(url.hostname) || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.port || url.username || url.password) return undefined;
  const id = CLIP.exec(url.pathname)?.[1];
  if (id) return { kind: 'video', id, url: `https://reelbox.example/clip/${id}` };
  const segment = url.pathname.split('/')[1] ?? '';
  const kind = Object.hasOwn(OTHER_KINDS, segment) ? OTHER_KINDS[segment] : undefined;
  return { unsupported: kind ?? 'another page of the site' };
}
