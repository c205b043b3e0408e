import type { Facts } from './facts.js';
import type { PageTags } from './page-tags.js';
import { essence } from './text.js';

/** What there is besides the tags. */
export interface TagsContext {
  facts: Facts;
  /** Whether the link names a group, whose name the titles then bear. */
  inGroup: boolean;
  isVideo: boolean;
  isPhoto?: boolean;
  /** Numeric id of the author, from the page's route. */
  authorId?: string;
  /** The text that the page's markup shows; it may be that of another post. */
  message?: string;
}

/** Whether a text begins with a part of it that stands elsewhere. */
export function startsAs(text: string | undefined, part: string): boolean {
  const beginning = essence(part).slice(0, 60);
  return beginning.length >= 3 && essence(text ?? '').startsWith(beginning);
}

/**
 * Whether the description is that of the owner of a photo. The title of a photo's page has the caption behind the name of
 * the owner; where it has the name alone, the photo has no caption.
 */
export function isOwnersDescription({ heading, title, description }: PageTags): boolean {
  if (!heading || !description || !title?.startsWith(heading)) return false;
  const text = essence(description);
  return !title.includes(` - ${description}`) && [heading, title].every((one) => nameBefore(one, text) === undefined);
}

/** Whether a title is the site's own: it says nothing of the item. */
export function isSiteTitle(text: string, facts: Facts): boolean {
  const words = text.trim().toLowerCase();
  return words === '' || facts.siteTitles.includes(words);
}

/** "Author - text…" where the text is the description's, "text - Author | Facebook", "Author on Facebook Watch". */
export function authorName(tags: PageTags, context: TagsContext): string | undefined {
  if (context.inGroup) return undefined;
  const { heading } = tags;
  const text = essence(tags.description ?? '');
  for (const title of [heading, tags.title]) {
    const before = title && nameBefore(title, text);
    if (before && !isSiteTitle(before, context.facts)) return before;
  }
  const onSite = heading && nameOnSite(heading, context.facts);
  if (onSite) return onSite;
  if (!heading || isSiteTitle(heading, context.facts) || heading.length > 100) return undefined;
  const title = tags.title ?? '';
  const confirmed = title.startsWith(`${heading} - `) || title.includes(`- ${heading}`);
  // A video's own title stands in the same place; a post has none.
  const isText = text !== '' && text.startsWith(essence(heading).slice(0, 40));
  return confirmed || (!context.isVideo && !isText) ? heading : undefined;
}

/** Characters of a title behind a name that are compared with the text. */
const COMPARED = 200;

function nameBefore(title: string, text: string): string | undefined {
  for (let dash = title.indexOf(' - '); dash > 0; dash = title.indexOf(' - ', dash + 3)) {
    const rest = essence(title.slice(dash + 3, dash + 3 + COMPARED).replace(/\|\s?[^|]{0,30}$/, ''));
    if (rest.length >= 3 && text.startsWith(rest.slice(0, 60))) return title.slice(0, dash).trim() || undefined;
  }
  return undefined;
}

function nameOnSite(heading: string, facts: Facts): string | undefined {
  const words = heading.toLowerCase();
  const place = Math.max(...facts.onSite.map((phrase) => words.lastIndexOf(` ${phrase}`)));
  return place > 0 && words.length - place < 40 ? heading.slice(0, place).trim() || undefined : undefined;
}
