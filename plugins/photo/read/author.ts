import { type Author, asArray, asBoolean, asString, at } from 'mediagate';
import { address, digits, profileUrl, username } from './values.js';

/** A user's node, in either form. */
export function parseAuthor(user: unknown): Author | undefined {
  const id = digits(at(user, 'pk')) ?? digits(at(user, 'id'));
  const name = username(at(user, 'username'));
  if (!id && !name) return undefined;
  return {
    id,
    username: name,
    name: asString(at(user, 'full_name')),
    url: profileUrl(name),
    avatar: address(at(user, 'hd_profile_pic_url_info', 'url')) ?? address(at(user, 'profile_pic_url')),
    verified: asBoolean(at(user, 'is_verified')),
  };
}

/** Those credited besides the author. */
export function parseCollaborators(list: unknown, authorId: string | undefined): Author[] | undefined {
  const others = (asArray(list) ?? []).flatMap((user) => parseAuthor(user) ?? []).filter(({ id }) => id !== authorId);
  return others.length > 0 ? others : undefined;
}
