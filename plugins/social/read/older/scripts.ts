import { type PartialPost, toIsoTime } from 'mediagate/plugin';

/** Maximum characters of the object with an item's counters on either side of its id. */
const REACH = 2_500;

type Counters = Readonly<Partial<Record<'views' | 'likes' | 'comments' | 'shares', RegExp>>>;

const DESKTOP: Counters = {
  likes: /\breaction_count:\{count:(\d{1,12})[,}]/,
  comments: /\bcomment_count:\{total_count:(\d{1,12})[,}]/,
  shares: /\bshare_count:\{count:(\d{1,12})[,}]/,
  views: /\bvideo_view_count:(\d{1,12})[,}]/,
};
const MOBILE: Counters = {
  likes: /\blike_count:(\d{1,12})[,}]/,
  comments: /\bcomment_count:(\d{1,12})[,}]/,
  shares: /\bshare_count:(\d{1,12})[,}]/,
};

/**
 * The counters in plain script objects of pages before 2023: next to `share_fbid` on the desktop, next to
 * `ft_ent_identifier` on mobiles. Undefined if no object has the id.
 */
export function parseScript(scripts: readonly string[], id: string): PartialPost | undefined {
  return (
    readAround(scripts, `share_fbid:"${id}"`, ['share_fbid:', 'comment_count:{'], DESKTOP) ??
    readAround(scripts, `{ft_ent_identifier:${id},`, ['', '{ft_ent_identifier:'], MOBILE)
  );
}

/** The counters around a mark. Objects of the same kind on both sides bound it; without a beginning it starts there. */
function readAround(
  scripts: readonly string[],
  mark: string,
  [beginning, next]: readonly [string, string],
  counters: Counters,
): PartialPost | undefined {
  for (const text of scripts) {
    const place = text.indexOf(mark);
    if (place < 0) continue;
    const before = beginning === '' ? '' : text.slice(Math.max(0, place - REACH), place);
    const after = text.slice(place + mark.length, place + mark.length + REACH).split(next, 1)[0] ?? '';
    const object = before.slice(before.lastIndexOf(beginning) + 1) + after;
    const metrics: PartialPost['metrics'] = {};
    for (const [metric, pattern] of Object.entries(counters)) {
      const digits = pattern.exec(object)?.[1];
      if (digits) metrics[metric as keyof Counters] = Number(digits);
    }
    if (Object.keys(metrics).length > 0) return { metrics };
  }
  return undefined;
}

/** Maximum characters between the time of a post and its id in the statistics of a page. */
const STATISTICS_REACH = 260;
const MAX_PLACES = 400;
/** `publish_time:…, story_name:…, story_fbid:[…`, in JSON, in JSON inside of JSON, or in an attribute. */
const IN_STATISTICS =
  /publish_time(?:\\*"|&quot;):(\d{9,10})\b[^{}]{0,160}story_fbid(?:\\*"|&quot;):\[?(?:\\*"|&quot;)?$/;

/**
 * When a post was published: the time next to its id in the statistics of a page, or next to its link in pages before
 * 2021. Undefined if neither has the id.
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

/** The links of comments have the id of the post as well, and do not count. */
function timeOfLink(html: string, place: number): string | undefined {
  const open = html.lastIndexOf('<', place);
  const link = html.slice(open, html.indexOf('>', place) + 1);
  if (link.length > 4_000 || !/^<a\s/.test(link) || link.includes('comment_id')) return undefined;
  return /^\s*<abbr\b[^>]{0,200}\sdata-utime="(\d{9,10})"/.exec(
    html.slice(open + link.length, open + link.length + 400),
  )?.[1];
}
