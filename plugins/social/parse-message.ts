import { decodeEntities } from 'mediagate';

/**
 * The text of a post in the markup of pages before 2021 and of those for embedding, with its paragraphs; icons bear their
 * own character. Undefined where there is none.
 */
export function parseMessage(html: string): string | undefined {
  const marks = ['data-testid="post_message"', ' userContent'].map((one) => html.indexOf(one));
  const mark = marks.find((one) => one >= 0) ?? -1;
  const start = mark < 0 ? -1 : html.indexOf('>', mark) + 1;
  if (start <= 0) return undefined;
  const markup = html.slice(start, divEnd(html, start));
  const text = markup
    // Long texts are folded: what is shown in place of the rest is not the author's.
    .replace(/<span class="text_exposed_hide">[^<]*<\/span>/g, '')
    .replace(/<a\b[^>]*class="[^"]*see_more_link[\s\S]{0,2000}?<\/a>/g, '')
    .replace(/<span class="text_exposed_link">[\s\S]{0,2000}?<\/a>\s*<\/span>/g, '')
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/p>\s*<p[^>]*>/gi, '\n\n')
    .replace(/<[^>]{0,5000}>/g, '');
  return (
    decodeEntities(text)
      .replace(/ *\n */g, '\n')
      .trim() || undefined
  );
}

/** Index of the tag that closes the division whose content begins at `start`. */
function divEnd(html: string, start: number): number {
  const tags = /<(\/?)div\b/g;
  tags.lastIndex = start;
  for (let depth = 1, match = tags.exec(html); match; match = tags.exec(html)) {
    depth += match[1] ? -1 : 1;
    if (depth === 0) return match.index;
  }
  return html.length;
}
