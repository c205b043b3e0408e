import { decodeEntities } from 'mediagate';

const MARKS = ['data-testid="post_message"', ' userContent'] as const;

/**
 * The text of a post in the markup of pages before 2021 and of those for embedding, with its paragraphs; icons bear their
 * own character. Undefined where there is none.
 * @param markup - the page without its scripts, piece by piece.
 */
export function parseMessage(markup: readonly string[]): string | undefined {
  for (const mark of MARKS) {
    const holder = markup.findIndex((piece) => piece.includes(mark));
    if (holder >= 0) return messageAfter(markup.slice(holder).join(''), mark);
  }
  return undefined;
}

function messageAfter(html: string, mark: string): string | undefined {
  const start = html.indexOf('>', html.indexOf(mark)) + 1;
  if (start === 0) return undefined;
  const text = html
    .slice(start, divEnd(html, start))
    // Long texts are folded: what is shown in place of the rest is not the author's.
    .replace(/<span class="text_exposed_hide">[^<]*<\/span>/g, '')
    .replace(/<a\b[^<>]*see_more_link[\s\S]{0,2000}?<\/a>/g, '')
    .replace(/<span class="text_exposed_link">[\s\S]{0,2000}?<\/a>\s*<\/span>/g, '')
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/p>\s*<p[^>]*>/gi, '\n\n')
    .replace(/<[^<>]*>/g, '');
  return (
    decodeEntities(text)
      .replace(/(?<=\n) +|(?<! ) +(?=\n)/g, '')
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
