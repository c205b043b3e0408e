/** First segment of a path that is no item → what it is. */
export const KINDS: Readonly<Record<string, string>> = {
  '': 'the home page',
  ads: 'an advertisement',
  ajax: 'an inner address of the site',
  dialog: 'a dialog',
  events: 'an event',
  gaming: 'a gaming page',
  groups: 'a group',
  hashtag: 'a hashtag',
  help: 'a help page',
  l: 'a redirect to another site',
  'l.php': 'a redirect to another site',
  login: 'the login page',
  'login.php': 'the login page',
  marketplace: 'a marketplace page',
  media: 'an album',
  messages: 'a conversation',
  notes: 'a note',
  p: 'a profile',
  pages: 'a profile',
  people: 'a profile',
  photo: 'a list of photos',
  photos: 'a list of photos',
  'profile.php': 'a profile',
  public: 'a search',
  reel: 'a list of reels',
  reels: 'a list of reels',
  search: 'a search',
  share: 'a share link without a code',
  sharer: 'a dialog',
  'sharer.php': 'a dialog',
  stories: 'a story, which only signed-in users are shown',
  video: 'a list of videos',
  watch: 'a list of videos',
  watchparty: 'a watch party',
};

/** Second segments that make a link of a profile's a list of the profile's. */
const LISTS: ReadonlySet<string> = new Set(['videos', 'photos', 'posts', 'reels', 'live_videos']);

/** What a link of the site is that is not an item, in words. */
export function kindOf(segments: readonly string[]): string {
  const [first = '', second = '', third] = segments;
  const name = first.toLowerCase();
  if (name === 'share' && third !== undefined) return 'a share link of another kind than a post, video or reel';
  const known = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
  if (known !== undefined) return known;
  if (segments.length === 1) return 'a profile';
  return LISTS.has(second.toLowerCase()) ? 'a list of a profile' : 'another page of the site';
}
