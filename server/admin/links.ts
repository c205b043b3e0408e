/*
 * Items that operators have taken down, for operators elsewhere: the list that `mediagate links list` prints.
 */

import { field, Type } from '../../core/contracts/index.js';
import { isoTime } from '../format/index.js';
import { Nullable, type Route, Text } from '../http/index.js';
import { adminRoute } from './admin-route.js';
import { wholeList } from './lists.js';
import type { AdminServices, Stored } from './services.js';

/** An item for the API and the `--json` output. */
export const BlockedLink = Type.Object({
  url: field(Text, 'Canonical URL of the item.'),
  blocked_at: field(Text, 'When it was blocked (RFC 3339).'),
  note: field(Nullable(Text), 'The given reason. Null without one.'),
});

/** Latest first. */
export async function listBlockedLinks({ state: { blockedLinks } }: Stored<'blockedLinks'>) {
  const links = await blockedLinks.list();
  return links.map(({ url, blockedAt, note }) => ({ url, blocked_at: isoTime(blockedAt), note }));
}

export function linkRoutes(services: AdminServices): Route[] {
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/links/blocked',
      summary: 'List blocked items',
      description: 'Lists the items of links that operators have taken down, for all keys.',
      answer: { description: 'The items.', name: 'BlockedLinkList', schema: wholeList(BlockedLink, 'Latest first.') },
      run: async () => ({ object: 'list', data: await listBlockedLinks(services) }),
    }),
  ];
}
