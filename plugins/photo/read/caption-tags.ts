/** Letters, digits, marks, underscores and emoji, as the site links them. */
const HASHTAG = /(?<![\p{L}\p{N}_&])[#＃]([\p{L}\p{N}\p{M}_\p{Extended_Pictographic}\u200d]+)/gu;
const MAX_TAGS = 100;

/** Hashtags of a caption without `#`, each once, in their order; a number alone is none. */
export function hashtagsIn(caption: string | undefined): string[] | undefined {
  const tags = new Set<string>();
  for (const [, tag] of caption?.matchAll(HASHTAG) ?? []) {
    if (tag && !/^\d+$/.test(tag) && tags.size < MAX_TAGS) tags.add(tag);
  }
  return tags.size > 0 ? [...tags] : undefined;
}
