import { decodeEntities, metaTags, splitScripts } from 'mediagate';

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

export interface StoryId {
  author: string;
  posts: readonly string[];
}

/** Which screen a page's own router shows, and of what. */
export interface PageRoute {
  /** Component of the screen, e.g. `CometSinglePostDialogRoot.react`. */
  root?: string;
  /** What an error screen says. */
  title?: string;
  /** Numeric ids and aliases that the route names as its subject. */
  subjects: ReadonlySet<string>;
  /** The story that the route shows, decoded: its author, and the numbers that name it. */
  story?: StoryId;
}

const ROUTE_LENGTH = 8_000;
const SUBJECT =
  /"(?:story_token|story_fbid|video_id|v|fbid|photo_id|node_id|nodeID|videoID|photoID|post_id|permalink_id)":"?(\d{5,20}|pfbid\w{16,150})\b/g;

/** Reads the route out of the texts of a page's scripts; it stands once, a few kilobytes long. */
export function readRoute(scripts: readonly string[]): PageRoute {
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

/** What an error screen in a piece of script text is told to say. */
export function readNotice(text: string): string | undefined {
  const title = /"props":\{(?:[^{}]*,)?"title":"((?:[^"\\]|\\.){1,300})"/.exec(text)?.[1];
  return title && literal(title);
}

function literal(text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    // Not a JSON string after all.
    return undefined;
  }
}

const BY_SCRIPT = /\blocation(?:\.href)?(?:\.replace\(|\.assign\(|\s*=\s*)["'](https:[^"'<>\s]{8,2000})["']/;
const BY_REFRESH = /http-equiv="refresh"[^>]{0,40}\burl=(https:[^"'<>\s]{8,2000})"/i;

/** Where a page sends the browser on its own, by script or by a refresh. */
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

/** What a page says of itself in its head. */
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
  /** Counters that stood before the text of a description: `14K views, 233 likes`. */
  counted?: string;
  /** Whose the item is, where a description said so before its text. */
  from?: string;
  image?: string;
  video?: string;
  videoWidth?: number;
  videoHeight?: number;
  siteName?: string;
}

/** `14K views, 233 likes, Facebook Watch Videos from Name: the text`. */
const PREFIX = /^(?:(?<counted>\p{Nd}[^:]{0,250}), )?Facebook (?<kind>[^:,]{1,120})(?::\s+|$)/u;

/** `Name. 12,345 likes · 67 talking about this. What the profile is about`: a description of the owner. */
const OF_OWNER = /^(?<name>.{1,150}?)\. \p{Nd}[^·:]{0,60}?(?: · \p{Nd}|\b(?:likes?|followers?)\b)/u;

/** Pictures at this address are made for crawlers and served to nobody else. */
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
    siteName: tags.get('og:site_name'),
  };
}

function isOfOwner(description: string, heading: string | undefined): boolean {
  const [name] = OF_OWNER.exec(description)?.groups?.name?.split(',', 1) ?? [];
  return name !== undefined && (heading?.startsWith(name) ?? false);
}

function readDescription(description: string): { text?: string; counted?: string; from?: string } {
  const prefix = PREFIX.exec(description);
  // A text of somebody's own may begin with the name of the site.
  const from = /^(?:Watch Videos?|Live Videos?|Videos?|Reels?) from (.{1,100})$/.exec(prefix?.groups?.kind ?? '')?.[1];
  const counted = prefix?.groups?.counted;
  if (!prefix || !(from ?? counted)) return { text: description };
  return { text: description.slice(prefix[0].length) || undefined, counted, from };
}

function sizeIn(text: string | undefined): number | undefined {
  return text && /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}
