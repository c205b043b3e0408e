/*
 * Searches the documentation: operations, error codes and sections of guides. The texts are in memory, since there are
 * some hundreds. An entry is found if it has every word of the query; words in its title weigh more than those in its
 * text, and pages for developers of the gateway weigh less than the others. Results can be limited to one part of the
 * documentation, and those of one page stand together, at the place of the best of them.
 */

/** What can be found. */
export interface SearchEntry {
  title: string;
  /** Where it leads: a path with an anchor. */
  url: string;
  /** The page that it is part of: `API reference, Images`. */
  place: string;
  /** What it is, where the title does not say: `object`, or `POST /v1/images/jobs`. */
  kind?: string;
  text: string;
  /** What results show, where it has a word of the query. Default: the text. */
  prose?: string;
  /** Further names, which count like the title. Default: none. */
  names?: string;
  /** What its score is multiplied by. Default: 1. */
  weight?: number;
}

export interface SearchResult extends Omit<SearchEntry, 'text' | 'prose' | 'names' | 'weight'> {
  /** The title, with the words of the query marked. */
  heading: MarkedText;
  /** The sentence that has the words of the query, with each of them marked. */
  excerpt: MarkedText;
}

export type MarkedText = readonly { text: string; isMarked: boolean }[];

export const MAX_QUERY_LENGTH = 100;
const MAX_WORDS = 8;
const MAX_RESULTS = 30;
const EXCERPT_LENGTH = 220;
/** Characters before the first word of the query in a longer sentence. */
const BEFORE = 60;
const SHORT_SENTENCE = 70;

interface IndexedEntry extends SearchEntry {
  lowTitle: string;
  lowText: string;
}

export class SearchIndex {
  readonly #entries: readonly IndexedEntry[];

  constructor(entries: readonly SearchEntry[]) {
    this.#entries = entries.map((entry) => {
      const text = entry.text.replaceAll('`', '');
      const lowTitle = `${entry.title} ${entry.place} ${entry.names ?? ''}`.toLowerCase();
      return { ...entry, text, lowTitle, lowText: text.toLowerCase() };
    });
  }

  /** Best first, at most 30. Empty for a query without words. @param group Part of the documentation. Default: all. */
  find(query: string, group?: string): SearchResult[] {
    const words = wordsOf(query);
    return this.#scored(words)
      .filter(({ entry }) => group === undefined || groupOf(entry) === group)
      .sort((a, b) => b.score - a.score)
      .slice(0, MAX_RESULTS)
      .map(({ entry: { title, url, place, kind, text, prose = text } }) => ({
        ...{
          title,
          url,
          place,
          heading: marked(title, words),
          excerpt: excerptOf(hasAny(prose, words) ? prose : text, words),
        },
        ...(kind !== undefined && { kind }),
      }));
  }

  /** How much each part of the documentation has, the fullest first. */
  counts(query: string): Map<string, number> {
    const groups = Map.groupBy(this.#scored(wordsOf(query)), ({ entry }) => groupOf(entry));
    return new Map([...groups].map(([group, { length }]) => [group, length] as const).sort((a, b) => b[1] - a[1]));
  }

  #scored(words: readonly string[]): { entry: IndexedEntry; score: number }[] {
    if (words.length === 0) return [];
    return this.#entries.map((entry) => ({ entry, score: scoreOf(entry, words) })).filter(({ score }) => score > 0);
  }
}

/** `API reference` of `API reference, Images`. */
function groupOf({ place }: SearchEntry): string {
  return place.split(', ', 1)[0] ?? '';
}

/** Results of one page together, in the order of the best of each page. */
export function resultsByPage(results: readonly SearchResult[]): { place: string; results: SearchResult[] }[] {
  const pages = new Map<string, { place: string; results: SearchResult[] }>();
  for (const result of results) {
    const [url = ''] = result.url.split('#');
    const page = pages.get(url) ?? { place: result.place, results: [] };
    page.results.push(result);
    pages.set(url, page);
  }
  return [...pages.values()];
}

function wordsOf(query: string): string[] {
  const words = query.slice(0, MAX_QUERY_LENGTH).toLowerCase().split(/\s+/);
  return [...new Set(words.filter((word) => word !== ''))].slice(0, MAX_WORDS);
}

/** 0 if a word is missing. */
function scoreOf({ title, lowTitle, lowText, weight = 1 }: IndexedEntry, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const inTitle = lowTitle.includes(word);
    if (!inTitle && !lowText.includes(word)) return 0;
    score += (inTitle ? (startsWord(lowTitle, word) ? 12 : 6) : 0) + Math.min(3, lowText.split(word).length - 1);
  }
  const [own, phrase] = [title.toLowerCase(), words.join(' ')];
  // Titles with the query as it was typed come first, in their order; then those with all of its words.
  if (words.length > 1 && startsWord(own, phrase)) score = words.length * 15 + 20;
  else if (words.length > 1 && words.every((word) => startsWord(own, word))) score += 8;
  return score * weight + (own === phrase ? 30 : 0);
}

function startsWord(text: string, word: string): boolean {
  return new RegExp(`(^|[^a-z0-9])${escapePattern(word)}`).test(text);
}

function hasAny(text: string, words: readonly string[]): boolean {
  const low = text.toLowerCase();
  return words.some((word) => low.includes(word));
}

/** The sentence with most words of the query, and the next one if it is short; each word is marked. */
function excerptOf(text: string, words: readonly string[]): SearchResult['excerpt'] {
  const sentences = text.split(/(?<=[.!?:]) +(?=[^a-z])/);
  const counts = sentences.map((sentence) => {
    const low = sentence.toLowerCase();
    return words.filter((word) => low.includes(word)).length;
  });
  const best = counts.indexOf(Math.max(...counts));
  const next = (sentences[best]?.length ?? 0) < SHORT_SENTENCE ? 2 : 1;
  return marked(cutAround(sentences.slice(best, best + next).join(' '), words), words);
}

function marked(text: string, words: readonly string[]): MarkedText {
  const pattern = new RegExp(`(${words.map(escapePattern).join('|')})`, 'gi');
  const pieces = text.split(pattern).map((piece, index) => ({ text: piece, isMarked: index % 2 === 1 }));
  return pieces.filter((piece) => piece.text !== '');
}

/** At most as long as an excerpt, from a little before the first word of the query on. */
function cutAround(text: string, words: readonly string[]): string {
  if (text.length <= EXCERPT_LENGTH) return text;
  const low = text.toLowerCase();
  const found = words.map((word) => low.indexOf(word)).filter((at) => at >= 0);
  const first = found.length === 0 ? 0 : Math.min(...found);
  const start = first <= BEFORE ? 0 : text.indexOf(' ', first - BEFORE) + 1;
  const part = text.slice(start, start + EXCERPT_LENGTH);
  const isCut = start + EXCERPT_LENGTH < text.length;
  const end = isCut ? part.lastIndexOf(' ') : part.length;
  return `${start > 0 ? '…' : ''}${part.slice(0, end > BEFORE ? end : part.length)}${isCut ? ' …' : ''}`;
}

/** A word of people has no meaning as a pattern. */
function escapePattern(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
