import { type Author, asArray, asNumber, asRecord, asString, at, type JsonRecord, type PartialPost } from 'mediagate';
import { usernameIn } from './links.js';
import { absoluteUrl } from './media-address.js';

/** The author or publisher of a node. */
export function parsePerson(value: unknown): Author | undefined {
  const person = asRecord(asArray(value)?.[0] ?? value);
  const name = asString(person?.name);
  if (!person || !name) return undefined;
  const url = absoluteUrl(person.url);
  const id = textOf(person.identifier);
  return {
    name,
    url,
    username: usernameIn(url),
    id: id && /^\d{3,20}$/.test(id) ? id : undefined,
    avatar: absoluteUrl(person.image) ?? absoluteUrl(at(person, 'image', 'contentUrl')),
  };
}

const ACTIONS: Readonly<Record<string, 'likes' | 'comments' | 'shares' | 'views'>> = {
  LikeAction: 'likes',
  ReactAction: 'likes',
  CommentAction: 'comments',
  ShareAction: 'shares',
  WatchAction: 'views',
  ViewAction: 'views',
};

/** The item's own counters: those of its author and its comments lie deeper. */
export function countsIn(record: JsonRecord): PartialPost['metrics'] {
  const counts: PartialPost['metrics'] = {};
  for (const one of asArray(record.interactionStatistic) ?? [record.interactionStatistic]) {
    const type = asString(at(one, 'interactionType')) ?? asString(at(one, 'interactionType', '@type')) ?? '';
    const action = type.slice(type.lastIndexOf('/') + 1);
    const metric = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    const value = countOf(at(one, 'userInteractionCount'));
    if (metric && value !== undefined) counts[metric] ??= value;
  }
  counts.comments ??= countOf(record.commentCount);
  counts.views ??= countOf(record.interactionCount);
  return counts;
}

function countOf(value: unknown): number | undefined {
  const count = asNumber(value);
  return count !== undefined && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** Numbers that fit are numbers, longer ones texts already. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : asString(value);
}
