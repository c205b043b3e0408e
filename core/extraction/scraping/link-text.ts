import { GatewayError } from '../../runtime/index.js';

/** Longest link accepted, in characters. */
const MAX_LINK_LENGTH = 2048;

const EXPECTED = 'Send an absolute http or https link of a supported platform.';

// Control characters and inner white space are what URL parsers silently drop; a backslash is what they silently turn.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being refused
const MISLEADING = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff\\]/;

/**
 * A submitted link as a URL, refused where a reader and a parser could see different hosts in it.
 * @throws GatewayError `invalid_url` with `param: 'url'`.
 */
export function parseLinkText(text: unknown): URL {
  if (typeof text !== 'string') throw invalid(`url must be a string. ${EXPECTED}`);
  const link = text.trim();
  if (link === '') throw invalid(`url is empty. ${EXPECTED}`);
  if (link.length > MAX_LINK_LENGTH) throw invalid(`url is longer than ${MAX_LINK_LENGTH} characters.`);
  if (MISLEADING.test(link)) throw invalid('url holds white space, a control character or a backslash.');
  if (!/^https?:\/\/[^/]/i.test(link)) throw invalid(`url does not begin with http:// or https://. ${EXPECTED}`);
  const url = URL.parse(link);
  if (!url) throw invalid(`url is not a valid URL. ${EXPECTED}`);
  if (url.username || url.password || /^https?:\/\/[^/?#]*@/i.test(link)) {
    throw invalid('url holds user information before the host, which no public link has.');
  }
  if (url.port) throw invalid('url names a port, which no public link has.');
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '');
  return url;
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_url', message, { param: 'url' });
}
