import type { LinkRef } from 'mediagate';
import { isAlias, itemAt } from './links.js';
import type { PageParts } from './page-parts.js';
import { type PageRoute, readStoryId } from './page-route.js';
import type { PageAnswer } from './requests.js';

/** Whether the page as a whole is the item's, by its addresses or its route. */
export function isAboutItem(answer: PageAnswer, page: PageParts, link: LinkRef): boolean {
  const { html } = page;
  const { id } = link;
  const tags = page.tags();
  const items = [tags.canonical, tags.address].flatMap((address) => itemAt(address) ?? []);
  if (items.some((item) => item.id === id)) return true;
  const { subjects, story } = page.route();
  if (subjects.has(id)) return true;
  // The story's number in code counts where the addresses do not name another.
  if (items.every((item) => isAlias(item.id)) && story?.posts.includes(id)) return true;
  const moved = movedTo(answer, link);
  if (moved !== undefined && items.some((item) => item.id === moved)) return true;
  if (!isAlias(id) || items.length === 0) return false;
  if (isAnsweredFor(html, id)) return true;
  // Behind an alias the page names the number; the alias is left in a link to another form of the page.
  const end = html.indexOf('</head');
  return html.slice(0, end < 0 ? 100_000 : end).includes(id);
}

/** A post that is a video, a reel or a photo is shown at that one's address: the other id that the site led us to. */
export function movedTo({ url }: PageAnswer, { id, kind }: LinkRef): string | undefined {
  const moved = kind === 'post' ? itemAt(url.href)?.id : undefined;
  return moved === id ? undefined : moved;
}

/** How far around an alias the tag reaches that it stands in, in characters. */
const REACH = 2_000;

/** Whether the page offers to log in and come back to this alias: then it was asked for by it. */
function isAnsweredFor(html: string, alias: string): boolean {
  for (let place = html.indexOf(alias); place >= 0; place = html.indexOf(alias, place + alias.length)) {
    const before = html.slice(Math.max(0, place - REACH), place);
    const tag = before.slice(before.lastIndexOf('<') + 1);
    const [rest] = html.slice(place, place + REACH).split('>', 1);
    if (tag.startsWith('input') ? `${tag}${rest}`.includes('name="next"') : /[?;&]next=https?%3A/i.test(tag))
      return true;
  }
  return false;
}

/** The number behind an alias; undefined where the page is not the item's. */
export function numberOf(page: PageParts, { id, aboutItem }: { id: string; aboutItem: boolean }): string | undefined {
  if (!isAlias(id)) return id;
  if (!aboutItem) return undefined;
  const tags = page.tags();
  const named = [tags.canonical, tags.address]
    .map((address) => itemAt(address)?.id)
    .find((one) => one && !isAlias(one));
  return named ?? page.route().story?.posts.at(-1);
}

/** Numeric id of the profile whose the item is, where the page's route, an old script or the address tells. */
export function authorIdOf(page: PageParts, id: string): string | undefined {
  const { canonical, address } = page.tags();
  return storyOf(page.route(), id) ?? storyAuthor(page.code, id) ?? ownerNumber(canonical ?? address);
}

function storyOf({ story }: PageRoute, id: string): string | undefined {
  return story && (isAlias(id) || story.posts.includes(id)) ? story.author : undefined;
}

/** Pages before 2023 name the story in bare form, in a script. */
function storyAuthor(scripts: readonly string[], id: string): string | undefined {
  for (const text of scripts) {
    for (let mark = text.indexOf('storyID:"S:_I'); mark >= 0; mark = text.indexOf('storyID:"S:_I', mark + 1)) {
      const story = readStoryId(/^S:[\w:]+/.exec(text.slice(mark + 9, mark + 120))?.[0]);
      if (story?.posts.includes(id)) return story.author;
    }
  }
  return undefined;
}

/** Profiles without a name of their own have a number in its place. */
function ownerNumber(address: string | undefined): string | undefined {
  return /^https:\/\/www\.facebook\.com\/(\d{5,20})\/(?:posts|videos|photos)\//.exec(address ?? '')?.[1];
}
