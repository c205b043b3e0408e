import type { Plugin } from './contracts/plugin.js';

/**
 * Origins that are told which trace a request belongs to: those of the URLs in an entry's options, which are vendors that
 * the operator chose. A platform is told nothing, nor is any host that somebody else named.
 */
export function tracedOriginsOf({ provides }: Plugin, options: unknown): ReadonlySet<string> {
  return new Set(provides.includes('extractor') ? [] : originsIn(options));
}

function originsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const url = /^https?:\/\//i.test(value) ? URL.parse(value) : null;
    return url ? [url.origin] : [];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(originsIn) : [];
}
