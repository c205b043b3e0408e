import { asRecord, at, linkedDataNodes, type PartialPost, readLinkedItem, splitScripts } from 'mediagate/plugin';
import { canonicalUrl } from '../../links.js';
import { profileUrl } from '../item.js';
import { nodes, ofDetail, type PageNodes, stateOf, together } from '../page-nodes.js';
import { idIn } from '../page-tags.js';
import { tagsOf, username } from '../values.js';

/** Pages of 2021 to 2023: items and accounts in tables of their own. */
export function readSigi(blob: unknown, id: string): PageNodes {
  const item = at(blob, 'ItemModule', id) ?? at(blob, 'MobileItemModule', id);
  const state = stateOf(at(blob, 'VideoPage')) ?? stateOf(at(blob, 'MobileSharingVideo'));
  return nodes({
    items: asRecord(item) ? [item] : [],
    users: at(blob, 'UserModule', 'users'),
    userStats: at(blob, 'UserModule', 'stats'),
    states: state ? [state] : [],
  });
}

/** Pages of 2019 to 2021. */
export function readNextData(blob: unknown): PageNodes {
  const props = at(blob, 'props', 'pageProps');
  return together([ofDetail(props), ofDetail(at(props, 'videoObjectPageProps'))]);
}

/** The schema.org description of the requested item, which pages had until 2023. */
export function parseVideoObject(html: string, id: string): PartialPost | undefined {
  if (!html.includes('VideoObject')) return undefined;
  const item = linkedDataNodes(splitScripts(html).scripts)
    .map((node) => readLinkedItem(node))
    .find(({ type, addresses }) => {
      const stated = addresses.flatMap((address) => idIn(address) ?? []);
      return type === 'VideoObject' && stated.length > 0 && stated.every((one) => one === id);
    });
  if (!item) return undefined;
  const { author, thumbnail, durationSeconds, counts } = item;
  const name = username(author?.username) ?? username(/\/@([^/?#]+)/.exec(author?.url ?? '')?.[1]);
  const caption = item.description ?? item.name;
  return {
    common: {
      caption,
      description: caption,
      author: { name: author?.name, username: name, url: name && profileUrl(name) },
      thumbnail,
      published_at: item.publishedAt,
      duration_seconds: durationSeconds,
      tags: tagsOf(caption),
    },
    ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id) },
    metrics: { ...counts, plays: counts.views, duration_seconds: durationSeconds },
    media: { image_urls: thumbnail ? [thumbnail] : [] },
  };
}
