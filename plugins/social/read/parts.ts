import {
  asString,
  at,
  decodeEntities,
  type JsonRecord,
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

/** The parts of a page. Tags and route are read once, when they are needed. */
export interface PageParts {
  html: string;
  /** The page without its scripts. */
  markup: readonly string[];
  /** Texts of the scripts of JSON and of those of code, and the markup. */
  scripts: readonly string[];
  /** Texts of the scripts of code, and the markup. */
  code: readonly string[];
  linkedData: readonly JsonRecord[];
  tags(): PageTags;
  route(): PageRoute;
}

export function takeApart(html: string): PageParts {
  const { scripts: all, markup } = splitScripts(html);
  const scripts: string[] = [];
  const code: string[] = [];
  for (const { tag, text } of all) {
    if (!tag.includes('application/ld+json')) scripts.push(text);
    if (!tag.includes('json')) code.push(text);
  }
  // In a damaged page, a script may be among the markup.
  scripts.push(...markup);
  code.push(...markup);
  let tags: PageTags | undefined;
  let route: PageRoute | undefined;
  return {
    html,
    markup,
    scripts,
    code,
    linkedData: linkedDataNodes(all),
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

/** The numeric ids in the id of a story. */
export interface StoryId {
  author: string;
  posts: readonly string[];
}

/** The screen that a page's router shows. */
export interface PageRoute {
  /** Component of the screen, e.g. `CometSinglePostDialogRoot.react`. */
  root?: string;
  /** The title of an error screen. */
  title?: string;
  /** Numeric ids and aliases of what the route shows. */
  subjects: ReadonlySet<string>;
  story?: StoryId;
}

const ROUTE_LENGTH = 8_000;
const SUBJECT =
  /"(?:story_token|story_fbid|video_id|v|fbid|photo_id|node_id|nodeID|videoID|photoID|post_id|permalink_id)":"?(\d{5,20}|pfbid\w{16,150})\b/g;

/** Reads the route, which one script of a page has, in a few kilobytes. */
function readRoute(scripts: readonly string[]): PageRoute {
  const holder = scripts.find((text) => text.includes('"rootView"'));
  if (holder === undefined) return { subjects: new Set() };
  const view = holder.indexOf('"rootView"');
  const route = holder.slice(view, view + ROUTE_LENGTH);
  const root = /"__dr":"([\w.$]{3,120})"/.exec(route)?.[1];
  const story = readStoryId(/"storyID":"([\w=+/-]{8,400})"/.exec(route)?.[1]);
  const subjects = new Set(Array.from(route.matchAll(SUBJECT), ([, id]) => id as string));
  return { root, title: readNotice(route), subjects, story };
}

/** A story's id is `S:_I{author}:{post}…` or `S:_I{author}:VK:{video}`, in base64 or bare. */
export function readStoryId(id: string | undefined): StoryId | undefined {
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

/** The address of the post that a page's route shows. */
export function addressOfStory({ story }: PageRoute): string | undefined {
  const post = story?.posts.at(-1);
  return story && post ? `https://www.facebook.com/${story.author}/posts/${post}` : undefined;
}

/** The tags in the head of a page. */
export interface PageTags {
  canonical?: string;
  /** `og:url`. */
  address?: string;
  /** The text of the title element. */
  title?: string;
  /** `og:title`. */
  heading?: string;
  /** The longest of the descriptions; they are cut at various lengths. */
  description?: string;
  /** The counters before the text of a description: `14K views, 233 likes`. */
  counted?: string;
  /** The author before the text of a description. */
  from?: string;
  image?: string;
  video?: string;
  videoWidth?: number;
  videoHeight?: number;
}

/** `14K views, 233 likes, Facebook Watch Videos from Name: the text`. */
const PREFIX = /^(?:(?<counted>\p{Nd}[^:]{0,250}), )?Facebook (?<kind>[^:,]{1,120})(?::\s+|$)/u;

/** `Name. 12,345 likes · 67 talking about this. What the profile is about`: a description of the owner. */
const OF_OWNER = /^(?<name>.{1,150}?)\. \p{Nd}[^·:]{0,60}?(?: · \p{Nd}|\b(?:likes?|followers?)\b)/u;

/** Pictures at this address are served to crawlers only. */
const FOR_CRAWLERS = 'lookaside.fbsbx.com/lookaside/crawler';

export function readPageTags(html: string): PageTags {
  const tags = metaTags(html);
  const image = tags.get('og:image') ?? tags.get('twitter:image');
  const names = ['og:description', 'description', 'twitter:description'];
  const heading = tags.get('og:title') ?? tags.get('twitter:title');
  const ofItem = names.flatMap((name) => tags.get(name) ?? []).filter((text) => !isOfOwner(text, heading));
  const descriptions = ofItem.map(readDescription);
  const [longest] = [...descriptions].sort((one, other) => (other.text?.length ?? 0) - (one.text?.length ?? 0));
  return {
    canonical: tags.get('canonical'),
    address: tags.get('og:url'),
    title: tags.get('title'),
    heading,
    description: longest?.text,
    counted: descriptions.find(({ counted }) => counted)?.counted,
    from: descriptions.find(({ from }) => from)?.from,
    image: image?.includes(FOR_CRAWLERS) ? undefined : image,
    video: tags.get('og:video:secure_url') ?? tags.get('og:video:url') ?? tags.get('og:video'),
    videoWidth: sizeIn(tags.get('og:video:width')),
    videoHeight: sizeIn(tags.get('og:video:height')),
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

function sizeIn(text: string | undefined): number | undefined {
  return text && /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}
