/*
 * The commands that take items down, and let them in again. A link is given as people share it; what is stored is the
 * canonical URL of its item. Short links are refused, since the platform would have to be asked where they lead.
 */

import { isGatewayError } from '../../../core/runtime/index.js';
import { listBlockedLinks } from '../../admin/index.js';
import { sanitizeForTerminal } from '../../format/index.js';
import type { Settings } from '../../settings/index.js';
import { byOperator, withGateway, withNewState, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandMistake } from '../mistakes.js';
import { type Outcome, renderRows } from '../output.js';
import type { blockLink } from './gateway-commands.js';

type Options = OptionsOf<typeof blockLink>;

/** Blocks an item for all keys, at once for new requests and within 2 seconds on other nodes. */
export async function blockLinkCommand(
  settings: Settings,
  link: string,
  { note }: Options,
): Promise<Outcome<'ChangedLink'>> {
  const url = await canonicalUrl(settings, link);
  const changed = await withNewState(settings, ({ blockedLinks }) => blockedLinks.block(url, byOperator(note)));
  const text = changed
    ? `${url} is blocked. Running servers refuse it, and its media and MP3 links, within 2 seconds.`
    : `${url} was blocked before.`;
  return { json: { url, blocked: true, changed }, text };
}

/** Lets an item in again. */
export async function unblockLinkCommand(
  settings: Settings,
  link: string,
  { note }: Options,
): Promise<Outcome<'ChangedLink'>> {
  const url = await canonicalUrl(settings, link);
  const changed = await withState(settings, ({ blockedLinks }) => blockedLinks.unblock(url, byOperator(note)));
  const text = changed ? `${url} is not blocked any more.` : `${url} was not blocked.`;
  return { json: { url, blocked: false, changed }, text };
}

/** The blocked items, latest first. */
export async function listBlockedLinksCommand(settings: Settings): Promise<Outcome<'BlockedLinks'>> {
  const links = await withState(settings, (state) => listBlockedLinks({ state }));
  const rows = links.map(({ url, blocked_at: at, note }) => [url, at, sanitizeForTerminal(note ?? '')]);
  return {
    json: links,
    text: renderRows(['ITEM', 'BLOCKED', 'NOTE'], rows) || 'No items are blocked.',
  };
}

/** @throws CommandMistake if the link is of no supported item. */
function canonicalUrl(settings: Settings, link: string): Promise<string> {
  return withGateway(settings, async (gateway) => {
    try {
      const { link: item } = gateway.match(link);
      if (item.kind !== 'short_link') return item.url;
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      throw new CommandMistake(error.message);
    }
    throw new CommandMistake('This is a short link. Open it, and give the address of the item itself.');
  });
}
