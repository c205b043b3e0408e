const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Posts of private accounts have these many letters more, a key that says nothing about the id. */
const KEY_LENGTH = 28;
const SHORTCODE = /^[A-Za-z0-9_-]+$/;
const LONGEST = 12;

/** Milliseconds since 1970 at which the ids begin to count. */
const ID_EPOCH = 1_314_220_021_721n;
/** Ids from before the platform put the time in them were small numbers. */
const FIRST_TIMED_ID = 1_000_000_000_000n;

/** One post, by the two names that pages give it. */
export interface PostIdentity {
  /** As in the link, a private post's key included. */
  shortcode: string;
  /** Decimal digits. */
  mediaId: string;
}

export function isShortcode(text: string): boolean {
  const bare = text.length - (text.length > KEY_LENGTH ? KEY_LENGTH : 0);
  return bare >= 1 && bare <= LONGEST && SHORTCODE.test(text);
}

/** Whether the shortcode has the key that posts of private accounts are shared with. */
export function hasPrivateKey(shortcode: string): boolean {
  return shortcode.length > KEY_LENGTH;
}

/** @param shortcode - one that passes {@link isShortcode}. */
export function identityOf(shortcode: string): PostIdentity {
  return { shortcode, mediaId: mediaIdOf(bareShortcode(shortcode)) };
}

/** The shortcode without a private post's key. */
export function bareShortcode(shortcode: string): string {
  return hasPrivateKey(shortcode) ? shortcode.slice(0, -KEY_LENGTH) : shortcode;
}

function mediaIdOf(bare: string): string {
  let id = 0n;
  for (const letter of bare) id = id * 64n + BigInt(ALPHABET.indexOf(letter));
  return id.toString();
}

/** When the id was made, to the second: minutes before the post was shown. Undefined for ids that hold no time. */
export function timeOfMediaId(mediaId: string): string | undefined {
  const id = BigInt(mediaId);
  if (id < FIRST_TIMED_ID) return undefined;
  const seconds = Number(((id >> 23n) + ID_EPOCH) / 1000n);
  // Beyond this no Date can be made: the shortcode was invented.
  return seconds < 4_102_444_800 ? new Date(seconds * 1000).toISOString().replace('.000Z', 'Z') : undefined;
}
