import { type Author, asArray, asBoolean, asString, at, type JsonRecord } from 'mediagate';
import type { ItemNodes } from './item-nodes.js';
import { numericId, recordsIn } from './json-records.js';
import { usernameIn } from './links.js';
import { absoluteUrl } from './media-address.js';

/** Whose the item is: who posted it, before whom a video or photo belongs to. */
export function parseAuthor({ stories, videos, photos, store }: ItemNodes): Author | undefined {
  const actors = recordsIn(stories.map(({ actors: listed }) => asArray(listed)?.[0]));
  const owners = recordsIn([
    ...stories.map((story) => at(story, 'short_form_video_context', 'video_owner')),
    ...[...videos, ...photos].map(({ owner }) => owner),
    ...stories.map((story) => at(story, 'video', 'owner')),
    ...stories.map((story) => at(story, 'feedback', 'owning_profile')),
  ]);
  const candidates = [...actors, ...owners];
  const leading = candidates.find(({ name }) => asString(name)) ?? candidates[0];
  if (!leading) return undefined;
  const id = numericId(leading.id);
  // Whoever bears the same id is the same profile, wherever the page speaks of it.
  const faces = [leading, ...candidates.filter((one) => id !== undefined && numericId(one.id) === id), ...store.of(id)];
  const first = <Value>(read: (face: JsonRecord) => Value | undefined): Value | undefined => {
    for (const face of faces) {
      const value = read(face);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  const url = first((face) => profileUrl(face.url) ?? profileUrl(face.profile_url));
  return {
    id,
    name: first(({ name }) => asString(name)),
    username: first(({ username }) => asString(username)) ?? usernameIn(url),
    url,
    avatar: first(avatarOf),
    verified: first(({ is_verified }) => asBoolean(is_verified)),
  };
}

function avatarOf(face: JsonRecord): string | undefined {
  const pictures = [face.profile_picture, face.displayPicture, face.profilePicLarge, face.profile_photo];
  return pictures.map((picture) => absoluteUrl(at(picture, 'uri'))).find((uri) => uri !== undefined);
}

/** A profile's address without what it carries along. */
function profileUrl(value: unknown): string | undefined {
  const address = absoluteUrl(value);
  if (!address) return undefined;
  const url = new URL(address);
  const id = url.pathname === '/profile.php' ? url.searchParams.get('id') : undefined;
  url.search = id ? `?id=${id}` : '';
  url.hash = '';
  return url.href;
}
