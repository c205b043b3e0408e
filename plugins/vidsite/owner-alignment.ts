import type { PartialPost, PostPart } from 'mediagate';

/**
 * Makes the parts agree on whose the video is. An artist's videos may lie in a channel of the label's while the page shows
 * the artist's own: then the page is followed, since the subscribers it shows are those of the channel it names.
 */
export function alignOwner(parts: readonly PostPart[], shownBy: readonly string[]): PostPart[] {
  const shown = parts.find(
    ({ method, found }) => shownBy.includes(method) && found.metrics?.subscriber_count !== undefined,
  );
  const owner = shown?.found.common?.author?.id;
  if (!owner) return [...parts];
  return parts.map(({ method, found }) => ({ method, found: belongsTo(found, owner) ? found : withoutOwner(found) }));
}

function belongsTo(post: PartialPost, owner: string): boolean {
  const id = post.common?.author?.id ?? post.ids?.channel_id;
  return id === undefined || id === owner;
}

function withoutOwner(post: PartialPost): PartialPost {
  const { author: _author, ...common } = post.common ?? {};
  const { channel_id: _channel, author_id: _id, ...ids } = post.ids ?? {};
  const { channel_id: _owner, subscriber_count: _subscribers, ...metrics } = post.metrics ?? {};
  return { ...post, common, ids, metrics };
}
