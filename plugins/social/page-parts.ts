import { splitScripts } from 'mediagate';
import { type PageRoute, readRoute } from './page-route.js';
import { type PageTags, readPageTags } from './page-tags.js';

/** A page taken apart: what stands in one of its parts is looked for there only, and read once, when it is asked for. */
export interface PageParts {
  html: string;
  /** The page without its scripts. */
  markup: readonly string[];
  /** Texts of the scripts of JSON and of those of code, and the markup. */
  scripts: readonly string[];
  /** Texts of the scripts of code, and the markup. */
  code: readonly string[];
  /** Texts of the scripts of schema.org's words. */
  linkedData: readonly string[];
  tags(): PageTags;
  route(): PageRoute;
}

export function takeApart(html: string): PageParts {
  const { scripts: all, markup } = splitScripts(html);
  const scripts: string[] = [];
  const code: string[] = [];
  const linkedData: string[] = [];
  for (const { tag, text } of all) {
    if (tag.includes('application/ld+json')) linkedData.push(text);
    else scripts.push(text);
    if (!tag.includes('json')) code.push(text);
  }
  // Of a page that came damaged, a script may stand among the rest.
  scripts.push(...markup);
  code.push(...markup);
  let tags: PageTags | undefined;
  let route: PageRoute | undefined;
  return {
    html,
    markup,
    scripts,
    code,
    linkedData,
    tags() {
      tags ??= readPageTags(html);
      return tags;
    },
    route() {
      route ??= readRoute(scripts);
      return route;
    },
  };
}
