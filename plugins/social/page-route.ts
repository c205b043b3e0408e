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
