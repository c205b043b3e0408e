/*
 * The account that a filter names: by its id, or by the address, the name or the id of its user, or by the beginning of
 * one. A text that fits several users limits to none of them: the page offers each by a link. A text that fits no user
 * is taken for an account of operators' keys, which has any name. It costs one read of the users.
 */

import type { UserRecord } from '../accounts/index.js';
import type { AdminServices } from '../admin/index.js';
import { isSiteAccount } from '../keys/index.js';
import { type Html, html, type Locale, linkTo } from '../site/index.js';

/** Users who are offered if a text fits several. */
const MOST = 8;

export interface OwnerFilter {
  /** As it was written; for an id the address of its user, if that is known. Undefined: nothing limits. */
  text: string | undefined;
  /** Undefined: nothing limits, or several users fit. */
  accountId: string | undefined;
  /** The users that the text fits, if it is not one. */
  several: readonly UserRecord[];
}

export async function readOwner(
  { state: { users } }: Pick<AdminServices, 'state'>,
  text: string | undefined,
): Promise<OwnerFilter> {
  if (text === undefined) return { text, accountId: undefined, several: [] };
  if (isSiteAccount(text)) {
    const user = await users.findByAccount(text);
    return { text: user?.email ?? text, accountId: text, several: [] };
  }
  const found = await users.list({ search: text, limit: MOST });
  const isNamed = ({ email, name, id }: UserRecord) =>
    [email, name, id].some((one) => one?.toLowerCase() === text.toLowerCase());
  const [exact, ...others] = found.filter(isNamed);
  const user = exact && others.length === 0 ? exact : found.length === 1 ? found[0] : undefined;
  if (user) return { text, accountId: user.accountId, several: [] };
  return { text, accountId: found.length === 0 ? text : undefined, several: found };
}

/** For an empty list: the users to choose from. Undefined if one is clear. */
export function chooseOwner(
  { several }: OwnerFilter,
  { path, query, name }: { path: string; query: Readonly<Record<string, string | undefined>>; name: string },
  { texts }: Locale,
): { title: string; words: Html } | undefined {
  if (several.length === 0) return undefined;
  const links = several.map((user) => {
    const href = linkTo(path, { ...query, [name]: user.accountId });
    return html`<li><a href="${href}"><bdi>${user.name ?? user.email ?? user.id}</bdi></a>${user.name !== null && user.email !== null && html` <bdi class="small muted">${user.email}</bdi>`}</li>`;
  });
  return { title: texts.console.severalUsers, words: html`<ul class="stack-small">${links}</ul>` };
}
