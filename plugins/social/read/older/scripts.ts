import { type PartialPost, toIsoTime } from 'mediagate';

/** How far around the id an object of its counters reaches, in characters. */
const REACH = 2_500;

const COUNTERS: readonly (readonly ['views' | 'likes' | 'comments' | 'shares', RegExp])[] = [
  ['likes', /\breaction_count:\{count:(\d{1,12})[,}]/],
  ['comments', /\bcomment_count:\{total_count:(\d{1,12})[,}]/],
  ['shares', /\bshare_count:\{count:(\d{1,12})[,}]/],
  ['views', /\bvideo_view_count:(\d{1,12})[,}]/],
];

const MOBILE_COUNTERS: readonly (readonly ['likes' | 'comments' | 'shares', RegExp])[] = [
  ['likes', /\blike_count:(\d{1,12})[,}]/],
  ['comments', /\bcomment_count:(\d{1,12})[,}]/],
  ['shares', /\bshare_count:(\d{1,12})[,}]/],
];

/**
 * Counters that pages before 2023 kept in plain script objects, whose names bear no quotes: the desktop's beside
 * `share_fbid`, the mobile's beside `ft_ent_identifier`. Undefined where none names the item.
 */
export function parseScript(scripts: readonly string[], id: string): PartialPost | undefined {
  return firstIn(scripts, (text) => readDesktop(text, id)) ?? firstIn(scripts, (text) => readMobile(text, id));
}

function firstIn(scripts: readonly string[], read: (text: string) => PartialPost | undefined): PartialPost | undefined {
  for (const text of scripts) {
    const found = read(text);
    if (found) return found;
  }
  return undefined;
}

function readDesktop(text: string, id: string): PartialPost | undefined {
  const mark = `share_fbid:"${id}"`;
  const place = text.indexOf(mark);
  if (place < 0) return undefined;
  // Neighbours of the same kind bound the object on both sides.
  const before = text.slice(Math.max(0, place - REACH), place);
  const own = before.slice(before.lastIndexOf('share_fbid:') + 1);
  const after = text.slice(place + mark.length, place + mark.length + REACH);
  const next = after.indexOf('comment_count:{');
  return metricsOf(COUNTERS, own + (next < 0 ? after : after.slice(0, next)));
}

function readMobile(text: string, id: string): PartialPost | undefined {
  const place = text.indexOf(`{ft_ent_identifier:${id},`);
  if (place < 0) return undefined;
  const object = text.slice(place, place + REACH);
  const next = object.indexOf('{ft_ent_identifier:', 1);
  return metricsOf(MOBILE_COUNTERS, next < 0 ? object : object.slice(0, next));
}

function metricsOf(
  counters: readonly (readonly ['views' | 'likes' | 'comments' | 'shares', RegExp])[],
  text: string,
): PartialPost | undefined {
  const metrics: PartialPost['metrics'] = {};
  for (const [metric, pattern] of counters) {
    const digits = pattern.exec(text)?.[1];
    if (digits) metrics[metric] = Number(digits);
  }
  return Object.keys(metrics).length > 0 ? { metrics } : undefined;
}

/** How far before a post's number its time stands in what the page keeps for statistics, in characters. */
const STATISTICS_REACH = 260;
const MAX_PLACES = 400;
/** `publish_time:…, story_name:…, story_fbid:[…`, in JSON, in JSON inside of JSON, or in an attribute. */
const IN_STATISTICS =
  /publish_time(?:\\*"|&quot;):(\d{9,10})\b[^{}]{0,160}story_fbid(?:\\*"|&quot;):\[?(?:\\*"|&quot;)?$/;

/**
 * When a post was published, where no data says it: the time beside the post's number in a page's statistics, or that
 * of the post's own link in pages before 2021. Undefined where neither names the post.
 */
export function parsePublishTime(html: string, id: string): string | undefined {
  let places = 0;
  for (let place = html.indexOf(id); place >= 0 && places < MAX_PLACES; place = html.indexOf(id, place + id.length)) {
    places += 1;
    if (/[\w-]/.test(html[place + id.length] ?? '')) continue;
    const stated = IN_STATISTICS.exec(html.slice(Math.max(0, place - STATISTICS_REACH), place))?.[1];
    const time = stated ?? timeOfLink(html, place);
    if (time) return toIsoTime(time);
  }
  return undefined;
}

/** The links of comments name the post as well. */
function timeOfLink(html: string, place: number): string | undefined {
  const open = html.lastIndexOf('<', place);
  const link = html.slice(open, html.indexOf('>', place) + 1);
  if (link.length > 4_000 || !/^<a\s/.test(link) || link.includes('comment_id')) return undefined;
  return /^\s*<abbr\b[^>]{0,200}\sdata-utime="(\d{9,10})"/.exec(
    html.slice(open + link.length, open + link.length + 400),
  )?.[1];
}
