/*
 * Finds the link in a text as the gateway does, normalized first, but with a single extractor in place of the
 * registry.
 */

import { type Extractor, type LinkRef, matchedLink } from '../contracts/index.js';
import { matchPasted, parseLinkText } from '../extraction/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';

/** The link in a text; undefined if it is not the extractor's, or no item. What `match` throws passes through. */
export function matchText(extractor: Pick<Extractor, 'match' | 'linkForms'>, text: string): LinkRef | undefined {
  const match = (url: URL): LinkRef => {
    const found = extractor.match(url);
    const link = matchedLink(found);
    if (link) return link;
    throw new GatewayError(found ? 'unsupported_link' : 'unsupported_platform', 'The link is no item of the platform.');
  };
  try {
    return matchPasted(parseLinkText(text), match, () => extractor.linkForms);
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}
