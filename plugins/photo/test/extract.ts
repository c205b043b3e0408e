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
  const http = createFakeHttp(({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === '/') return HOME;
    if (pathname.startsWith('/api/v1/web/get_ruling')) return replies.ruling ?? LOGIN;
    if (pathname.startsWith('/api/v1/media/')) return replies.info ?? LOGIN;
    if (pathname.includes('graphql')) return replies.query ?? LOGIN;
    return (pathname.includes('/embed') ? replies.embed : replies.page) ?? LOGIN;
  });
  const extractor = extractorOf(await setUpPlugin({ plugin: photo, http }));
  const link = matchedLink(extractor.match(new URL(`${SITE}/p/${code}/`)));
  if (!link) throw new Error('the link does not match');
  return extractor.extract({ link, options: {}, signal: new AbortController().signal });
}
