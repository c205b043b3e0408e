/*
 * Decide here which addresses are yours. The function runs for every link that the gateway receives, so make no
 * requests in it and compare hosts whole. Return `undefined` for other sites, and `unsupported` for pages of your site
 * that you do not extract.
 */

import { isPlainUrl, kindOfPage, type LinkMatch, pathSegments } from 'mediagate/plugin';

const HOSTS = new Set(['reelbox.example', 'www.reelbox.example', 'm.reelbox.example']);
const CLIP = /^\/(?:clip|c)\/([A-Za-z0-9]{10})\/?$/;
/** What the first segment of a path that is no clip stands for. */
const KINDS = { user: 'a profile', list: 'a playlist', search: 'a search' };

export const LINK_FORMS = ['https://reelbox.example/clip/{id}', 'https://m.reelbox.example/c/{id}'];

/** Hosts are compared whole: a test of the end would let `otherreelbox.example` through. */
export function matchLink(url: URL): LinkMatch {
  if (!HOSTS.has(url.hostname) || !isPlainUrl(url)) return undefined;
  const id = CLIP.exec(url.pathname)?.[1];
  if (id) return { kind: 'video', id, url: canonicalUrl(id) };
  return { unsupported: kindOfPage(KINDS, pathSegments(url)[0] ?? '') ?? 'another page of the site' };
}

export function canonicalUrl(id: string): string {
  return `https://reelbox.example/clip/${id}`;
}
