import type { RequestContext } from './request-state.js';

/** Of a header field, which is to stay short whatever is sent. */
const MOST_NAMES = 20;

/** Names what was left out; the names are those of the open format, or the caller's own. */
export function nameIgnored({ res: response }: RequestContext, ignored: readonly string[]): void {
  const names = [...new Set(ignored)].filter((name) => /^[\w.[\]-]{1,64}$/.test(name)).slice(0, MOST_NAMES);
  if (names.length > 0) response.setHeader('x-ignored-params', names.join(', '));
}
