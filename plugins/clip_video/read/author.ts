import { asBoolean, asRecord, asString, at, type Common } from 'mediagate';
import { idText, member, urlsIn, username } from './values.js';

type Author = NonNullable<Common['author']>;

const AVATARS = [
  'avatarLarger',
  'avatarMedium',
  'avatarThumb',
  'avatar_larger',
  'avatar_thumb',
  'avatar_url_list',
  'covers',
];

/**
 * Whose an item is. Usually a node of its own; in the state of older pages the item holds the handle alone, and the rest
 * stands in `users`.
 */
export function parseAuthor(item: unknown, users?: unknown): Author | undefined {
  const stated = at(item, 'author');
  const handle = asString(stated);
  const node = asRecord(stated) ?? (handle ? asRecord(at(users, handle)) : undefined) ?? {};
  const name = username(member(node, 'uniqueId', 'unique_id')) ?? username(handle);
  const id = idText(member(node, 'id', 'uid', 'userId')) ?? idText(at(item, 'authorId'));
  const nickname = asString(member(node, 'nickname', 'nickName')) ?? asString(member(item, 'nickname', 'authorName'));
  const [avatar] = AVATARS.flatMap((one) => urlsIn(member(node, one) ?? at(item, one)));
  if (!name && !id && !nickname) return undefined;
  return {
    id,
    name: nickname,
    username: name,
    url: name && profileUrl(name),
    avatar,
    verified: asBoolean(at(node, 'verified')),
  };
}

export function profileUrl(name: string): string {
  return `https://www.tiktok.com/@${name}`;
}
