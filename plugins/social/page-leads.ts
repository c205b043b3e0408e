import { decodeEntities } from 'mediagate';
import type { PageRoute } from './page-route.js';

const BY_SCRIPT = /\blocation(?:\.href)?(?:\.replace\(|\.assign\(|\s*=\s*)["'](https:[^"'<>\s]{8,2000})["']/;
const BY_REFRESH = /http-equiv="refresh"[^>]{0,40}\burl=(https:[^"'<>\s]{8,2000})"/i;

/** Where a page sends the browser on its own, by script or by a refresh. */
export function leadsIn(html: string): string[] {
  const script = BY_SCRIPT.exec(html)?.[1];
  const refresh = BY_REFRESH.exec(html)?.[1];
  return [...(script ? [script.replaceAll('\\/', '/')] : []), ...(refresh ? [decodeEntities(refresh)] : [])];
}

/** The address of the post that a page's route shows. */
export function addressOfStory({ story }: PageRoute): string | undefined {
  const post = story?.posts.at(-1);
  return story && post ? `https://www.facebook.com/${story.author}/posts/${post}` : undefined;
}
