import { literalEnd } from 'mediagate';

/** A list that each of a page's query results repeats, to the last character: nine tenths of a page of reels. */
const LIST = '"all_video_dash_prefetch_representations":';
/** Different lists that are kept in mind; pages have one. */
const MAX_LISTS = 8;

/** Takes out of the texts of a page's scripts what was in an earlier one, so that it is parsed once. */
export interface RepeatedLists {
  /** The text with an empty list in the place of one that an earlier text had. */
  shorten(text: string): string;
}

export function createRepeatedLists(): RepeatedLists {
  const known: string[] = [];
  return {
    shorten(text) {
      const mark = text.indexOf(LIST);
      const start = mark + LIST.length;
      if (mark < 0 || text[start] !== '[') return text;
      const same = known.find((list) => text.slice(start, start + list.length) === list);
      if (same !== undefined) return `${text.slice(0, start)}[]${text.slice(start + same.length)}`;
      const end = known.length < MAX_LISTS ? literalEnd(text, start) : undefined;
      if (end !== undefined) known.push(text.slice(start, end));
      return text;
    },
  };
}
