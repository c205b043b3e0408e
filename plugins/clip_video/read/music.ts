import { asString, at, type Common } from 'mediagate';
import { idText, member } from './values.js';

/** The music or sound that a post is set to, in the spellings of all replies. */
export function parseMusic(music: unknown): Common['music'] {
  const title = asString(member(music, 'title', 'musicName'));
  const artist = asString(member(music, 'authorName', 'author'));
  if (!title && !artist) return undefined;
  return { title, artist, album: asString(at(music, 'album')), id: idText(member(music, 'id', 'musicId', 'id_str')) };
}
