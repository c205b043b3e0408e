import { decodeEntities } from 'mediagate';

const MARKS = ['data-testid="post_message"', ' userContent'] as const;
/** Long texts are folded. Elements with these classes stand in place of the rest and link to it. */
const NOT_THE_TEXT = /text_exposed_hide|text_exposed_link|see_more_link/;

/**
 * The text of a post in the markup of pages before 2021 and of pages for embedding, with its paragraphs. Undefined if
 * there is none.
 * @param markup - the page without its scripts, in pieces.
 */
export function parseMessage(markup: readonly string[]): string | undefined {
  for (const mark of MARKS) {
    const holder = markup.findIndex((piece) => piece.includes(mark));
    if (holder >= 0) return messageAfter(markup.slice(holder).join(''), mark);
  }
  return undefined;
}

/** Reads each tag once, up to the one that closes the division of the text. */
function messageAfter(html: string, mark: string): string | undefined {
  const start = html.indexOf('>', html.indexOf(mark)) + 1;
  if (start === 0) return undefined;
  const pieces: string[] = [];
  let divisions = 1;
  /** Index in `pieces` of what follows a closed paragraph, if that is blank so far. */
  let paragraphEnd = -1;
  let skipped: { name: string; depth: number } | undefined;
  const add = (text: string) => {
    if (skipped || text === '') return;
    pieces.push(text);
    if (text.trim() !== '') paragraphEnd = -1;
  };

  const tags = /<(\/?)(\w*)[^<>]*>/g;
  tags.lastIndex = start;
  let from = start;
  for (let match = tags.exec(html); match; match = tags.exec(html)) {
    const [tag, slash, name = ''] = match;
    const depth = slash ? -1 : 1;
    add(html.slice(from, match.index));
    from = tags.lastIndex;
    if (name === 'div') divisions += depth;
    if (divisions === 0) break;
    if (skipped) {
      if (name === skipped.name) skipped.depth += depth;
      if (skipped.depth === 0) skipped = undefined;
    } else if (!slash && (name === 'a' || name === 'span') && NOT_THE_TEXT.test(tag)) skipped = { name, depth };
    else if (name === 'br') add('\n');
    else if (name === 'p' && slash) paragraphEnd = pieces.length;
    else if (name === 'p' && paragraphEnd >= 0) pieces.splice(paragraphEnd, pieces.length, '\n\n');
  }
  if (divisions > 0) add(html.slice(from));
  return (
    decodeEntities(pieces.join(''))
      .replace(/(?<=\n) +|(?<! ) +(?=\n)/g, '')
      .trim() || undefined
  );
}
