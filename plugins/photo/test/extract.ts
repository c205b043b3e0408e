/** Runs the photo plugin on a site of scripted pages. */

import { matchedLink } from 'mediagate/plugin';
import { createFakeHttp, extractorOf, type FakeReply, setUpPlugin } from 'mediagate/testing';
import photo from '../index.js';

export const SITE = 'https://www.instagram.com';
/** The post that the tests ask for. */
export const CODE = 'DX6B-kzkPRH';
export const MEDIA_ID = '3889429926361756743';

const LOGIN: FakeReply = { status: 302, headers: { location: `${SITE}/accounts/login/?next=x` } };
const HOME: FakeReply = { body: '<html><script>["LSD",[],{"token":"invented"}]</script></html>' };

/** What the site answers; every address that is not listed redirects to the login page. */
export type Replies = Partial<Record<'page' | 'embed' | 'query' | 'info' | 'ruling', FakeReply>>;

/** Extracts the post of a shortcode from invented replies. */
export async function extract(replies: Replies, code = CODE) {
  return (await setUpSite(replies)).extract(code);
}

/**
 * Sets up one extractor, whose site sends invented replies.
 * @returns `extract` reads a post by its shortcode; `requests` lists what the site received.
 */
export async function setUpSite(replies: Replies | (() => Replies)) {
  const http = createFakeHttp(({ url }) => {
    const now = typeof replies === 'function' ? replies() : replies;
    const { pathname } = new URL(url);
    if (pathname === '/') return HOME;
    if (pathname.startsWith('/api/v1/web/get_ruling')) return now.ruling ?? LOGIN;
    if (pathname.startsWith('/api/v1/media/')) return now.info ?? LOGIN;
    if (pathname.includes('graphql')) return now.query ?? LOGIN;
    return (pathname.includes('/embed') ? now.embed : now.page) ?? LOGIN;
  });
  const extractor = extractorOf(await setUpPlugin({ plugin: photo, http }));
  return {
    requests: http.requests,
    async extract(code = CODE) {
      const link = matchedLink(extractor.match(new URL(`${SITE}/p/${code}/`)));
      if (!link) throw new Error('the link does not match');
      return extractor.extract({ link, options: {}, signal: new AbortController().signal });
    },
  };
}
