/*
 * Takes a page apart once for all readers: scripts, markup, linked data, tags and the route, which names the screen
 * that the page shows. Ids of stories are decoded from base64 to author and post. Of the descriptions in the tags the
 * longest is used, since they are cut at various lengths, and counters and author are taken off its beginning.
 * Descriptions of the profile are recognized and skipped. Pictures at an address for crawlers are left out, because
 * clients cannot fetch them.
 */

import {
  asPositive,
  asString,
  at,
  decodeEntities,
  linkedDataNodes,
  metaTags,
  splitScripts,
  tryParseJson,
} from 'mediagate/plugin';

/** A reply of the site. */
export interface PageReply {
  status: number;
  /** After redirects. */
  url: URL;
  /** Empty if the site redirected to something that is not requested. */
  html: string;
}

/** The parts of a page. */
export type PageParts = ReturnType<typeof takeApart>;

export function takeApart(html: string) {
  const { scripts: all, markup } = splitScripts(html);
  const textsOf = (scripts: typeof all) => scripts.map(({ text }) => text);
  const data = all.filter(({ tag }) => !tag.includes('application/ld+json'));
  // In a damaged page, a script may be among the markup.
  const scripts = [...textsOf(data), ...markup];
  return {
    html,
    /** The page without its scripts. */
    markup,
    /** Texts of the scripts of JSON and of those of code, and the markup. */
    scripts,
    /** Texts of the scripts of code, and the markup. */
    code: [...textsOf(all.filter(({ tag }) => !tag.includes('json'))), ...markup],
    linkedData: linkedDataNodes(all),
    tags: readPageTags(html),
    route: readRoute(scripts),
  };
}

const ROUTE_LENGTH = 8_000;
const SUBJECT =
  /"(?:story_token|story_fbid|video_id|v|fbid|photo_id|node_id|nodeID|videoID|photoID|post_id|permalink_id)":"?(\d{5,20}|pfbid\w{16,150})\b/g;

/** The screen that a page's router shows: one script of the page has it, in a few kilobytes. */
function readRoute(scripts: readonly string[]) {
  const holder = scripts.find((text) => text.includes('"rootView"')) ?? '';
  const view = holder.indexOf('"rootView"');
  const route = holder.slice(view, view + ROUTE_LENGTH);
  return {
    /** Component of the screen, e.g. `CometSinglePostDialogRoot.react`. */
    root: /"__dr":"([\w.$]{3,120})"/.exec(route)?.[1],
    /** The title of an error screen. */
    title: readNotice(route),
    /** Numeric ids and aliases of what the route shows. */
    subjects: new Set(Array.from(route.matchAll(SUBJECT), ([, id]) => id)),
    story: readStoryId(/"storyID":"([\w=+/-]{8,400})"/.exec(route)?.[1]),
  };
}

/** The numeric ids in a story's id: `S:_I{author}:{post}…` or `S:_I{author}:VK:{video}`, in base64 or bare. */
export function readStoryId(id: string | undefined) {
  if (!id) return undefined;
  const text = id.startsWith('S:') ? id : Buffer.from(id, 'base64').toString('latin1');
  const parts = /^S:_I(\d{3,20}):([\w:]{1,200})$/.exec(text);
  return parts?.[1] && parts[2]
    ? { author: parts[1], posts: parts[2].split(':').filter((part) => /^\d{5,20}$/.test(part)) }
    : undefined;
}

/** The title of the error screen in the text of a script. */
export function readNotice(text: string): string | undefined {
  const title = /"props":\{(?:[^{}]*,)?"title":"((?:[^"\\]|\\.){1,300})"/.exec(text)?.[1];
  return title && asString(at(tryParseJson(`["${title}"]`), 0));
}

const BY_SCRIPT = /\blocation(?:\.href)?(?:\.replace\(|\.assign\(|\s*=\s*)["'](https:[^"'<>\s]{8,2000})["']/;
const BY_REFRESH = /http-equiv="refresh"[^>]{0,40}\burl=(https:[^"'<>\s]{8,2000})"/i;

/** Where a page sends the browser, by script or by a refresh. */
export function leadsIn(html: string): string[] {
  const script = BY_SCRIPT.exec(html)?.[1];
  const refresh = BY_REFRESH.exec(html)?.[1];
  return [...(script ? [script.replaceAll('\\/', '/')] : []), ...(refresh ? [decodeEntities(refresh)] : [])];
}

/** `14K views, 233 likes, Facebook Watch Videos from Name: the text`. */
const PREFIX = /^(?:(?<counted>\p{Nd}[^:]{0,250}), )?Facebook (?<kind>[^:,]{1,120})(?::\s+|$)/u;

/** `Name. 12,345 likes · 67 talking about this. What the profile is about`: a description of the owner. */
const OF_OWNER = /^(?<name>.{1,150}?)\. \p{Nd}[^·:]{0,60}?(?: · \p{Nd}|\b(?:likes?|followers?)\b)/u;

/** Pictures at this address are served to crawlers only. */
const FOR_CRAWLERS = 'lookaside.fbsbx.com/lookaside/crawler';

/** The tags in the head of a page. */
export type PageTags = Partial<ReturnType<typeof readPageTags>>;

export function readPageTags(html: string) {
  const tags = metaTags(html);
  const image = tags.get('og:image') ?? tags.get('twitter:image');
  const names = ['og:description', 'description', 'twitter:description'];
  const heading = tags.get('og:title') ?? tags.get('twitter:title');
  const ofItem = names.flatMap((name) => tags.get(name) ?? []).filter((text) => !isOfOwner(text, heading));
  const descriptions = ofItem.map(readDescription);
  const [longest] = [...descriptions].sort((one, other) => (other.text?.length ?? 0) - (one.text?.length ?? 0));
  return {
    /** The canonical one and `og:url`. */
    addresses: [tags.get('canonical'), tags.get('og:url')].filter((address) => address !== undefined),
    /** The text of the title element. */
    title: tags.get('title'),
    heading,
    /** The longest of the descriptions, which are cut at various lengths. */
    description: longest?.text,
    /** The counters before the text of a description: `14K views, 233 likes`. */
    counted: descriptions.find(({ counted }) => counted)?.counted,
    /** The author before the text of a description. */
    from: descriptions.find(({ from }) => from)?.from,
    image: image?.includes(FOR_CRAWLERS) ? undefined : image,
    video: tags.get('og:video:secure_url') ?? tags.get('og:video:url') ?? tags.get('og:video'),
    videoWidth: asPositive(tags.get('og:video:width')),
    videoHeight: asPositive(tags.get('og:video:height')),
  };
}

function isOfOwner(description: string, heading: string | undefined): boolean {
  const [name] = OF_OWNER.exec(description)?.groups?.name?.split(',', 1) ?? [];
  return name !== undefined && (heading?.startsWith(name) ?? false);
}

function readDescription(description: string): { text?: string; counted?: string; from?: string } {
  const prefix = PREFIX.exec(description);
  // A text of an author may begin with the name of the site.
  const from = /^(?:Watch Videos?|Live Videos?|Videos?|Reels?) from (.{1,100})$/.exec(prefix?.groups?.kind ?? '')?.[1];
  const counted = prefix?.groups?.counted;
  if (!prefix || !(from ?? counted)) return { text: description };
  return { text: description.slice(prefix[0].length) || undefined, counted, from };
}
