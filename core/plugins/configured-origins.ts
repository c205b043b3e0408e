import type { Plugin } from '../contracts/index.js';

/**
 * Origins of the URLs in an entry's options: servers that the operator chose. The entry's own requests may go there although
 * the address is private, and they are told which trace a request belongs to. An extractor has none: links that users name
 * go through its client.
 */
export function configuredOriginsOf({ provides }: Plugin, options: unknown): readonly string[] {
  return provides.includes('extractor') ? [] : [...new Set(originsIn(options))];
}

function originsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const url = /^https?:\/\//i.test(value) ? URL.parse(value) : null;
    return url ? [url.origin] : [];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(originsIn) : [];
}
