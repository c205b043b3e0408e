import { toIsoTime } from 'mediagate';

/** How far before a post's number its time stands in what the page keeps for statistics, in characters. */
const REACH = 260;
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
    const stated = IN_STATISTICS.exec(html.slice(Math.max(0, place - REACH), place))?.[1];
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
