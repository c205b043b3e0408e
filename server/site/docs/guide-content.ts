/*
 * Renders the Markdown of a guide as HTML, with the anchors that forges give to headings, code that can be copied, and
 * tables that scroll within themselves. HTML in the Markdown is left out: the guides contain only comments, for tests.
 * The same Markdown is cut into sections for the search.
 */

import { LOCALES, type Locale } from '../language/index.js';
import { codeText, copyButton, Html, html } from '../page.js';
import { type Guide, placeOf, resolveLink } from './guides.js';
import type { DocsPage } from './layout.js';
import type { Marked, Token, Tokens } from './marked.js';
import type { SearchEntry } from './search.js';

export interface GuideHeading {
  id: string;
  title: string;
  depth: number;
}

/** Loads the parser, which most processes never need. */
export async function loadMarked(): Promise<typeof Marked> {
  return (await import('./marked.js')).Marked;
}

interface GuideOptions {
  /** By file, for links between them. */
  guides: ReadonlyMap<string, Guide>;
  Parser: typeof Marked;
  /** As that of the brand. */
  editUrl?: string | undefined;
  /** Of the visitor, for the line above the guide. */
  locale: Locale;
}

export function guidePage(guide: Guide, { guides, Parser, editUrl, locale }: GuideOptions): DocsPage {
  const { documentation: t } = LOCALES.en.texts;
  const { title, url, markdown, file } = guide;
  const rendering = new GuideRendering(guide, guides);
  const parser = new Parser({ renderer: rendering.renderer() });
  const body = parser.parse(markdown, { async: false });
  const [first, ...headings] = rendering.headings;
  const parts = headings.filter(({ depth }) => depth === 2);
  const isFolded = markdown.length > LONG_GUIDE && parts.length >= MIN_PARTS;
  return {
    title,
    description: descriptionOf(markdown),
    url,
    toc: parts,
    english: { summary: locale.texts.documentation.guides[file]?.summary },
    content: html`<article class="guide">
<div class="page-head"><h1 id="${first?.id ?? 'title'}">${title}</h1>
<div class="row"><button type="button" class="button button-quiet button-small needs-script" data-markdown="${url}.md" data-copied="${t.copied}"><span aria-live="polite">${t.copyMarkdown}</span></button><a class="small" href="${url}.md">${t.viewMarkdown}</a>${editUrl !== undefined && html`<a class="small" href="${editUrl}/${file}" rel="noreferrer">${t.edit}</a>`}</div></div>
${isFolded ? foldedParts(body) : html`<div class="prose">${new Html(body)}</div>`}
</article>`,
  };
}

/** Guides of more characters, with so many parts, fold all but the first ones on a phone. */
const LONG_GUIDE = 9_000;
const MIN_PARTS = 4;
const OPEN_PARTS = 1;

/**
 * Each part below a heading of the second level is a fold. Its id is that of its content, since browsers reveal what an
 * address names, or what a search in the page finds, inside of a fold. Where there is room, styles show all parts.
 */
function foldedParts(body: string): Html {
  // Texts are escaped: only a heading has these marks.
  const [intro = '', ...parts] = body.split(/(?=<h2 id=")/);
  return html`<div class="prose">${new Html(intro)}</div><div class="docs-folds">${parts.map((part, index) => {
    const [whole = '', id = '', words = ''] = /^<h2 id="([^"]*)">(.*)<\/h2>\n/.exec(part) ?? [];
    return html`<details class="docs-fold"${index < OPEN_PARTS && html` open`}><summary><h2>${new Html(words)}</h2></summary><div class="prose" id="${new Html(id)}">${new Html(part.slice(whole.length))}</div></details>`;
  })}</div>`;
}

/** The first paragraph, without marks. */
function descriptionOf(markdown: string): string {
  const paragraph = markdown.split(/\n\n+/).find((block) => /^[A-Za-z`[*]/.test(block)) ?? '';
  return plainText(paragraph).slice(0, 200);
}

/** One page that is being rendered: it numbers code and tables, and collects headings. */
class GuideRendering {
  readonly headings: GuideHeading[] = [];
  readonly #guide: Guide;
  readonly #guides: ReadonlyMap<string, Guide>;
  #blocks = 0;

  constructor(guide: Guide, guides: ReadonlyMap<string, Guide>) {
    this.#guide = guide;
    this.#guides = guides;
  }

  renderer() {
    const rendering = this;
    return {
      heading(this: Inline, { tokens, depth, text }: Tokens.Heading): string {
        const id = rendering.#addHeading(text, depth);
        // The title of the page is above its buttons.
        if (depth === 1) return '';
        const tag = new Html(`h${depth}`);
        const words = new Html(this.parser.parseInline(tokens));
        return html`<${tag} id="${id}">${words}</${tag}>\n`.markup;
      },
      code({ text, lang = '' }: Tokens.Code): string {
        const title = LANGUAGE_NAMES[lang] ?? lang;
        return rendering.#codeBlock(codeText(text, lang), title === '' ? 'Text' : title).markup;
      },
      table(this: Inline, { header, rows }: Tokens.Table): string {
        const cell = (tokens: Token[]) => new Html(this.parser.parseInline(tokens));
        rendering.#blocks += 1;
        const head = html`<tr>${header.map((one) => (one.text === '' ? html`<td></td>` : html`<th scope="col">${cell(one.tokens)}</th>`))}</tr>`;
        const body = rows.map((row) => html`<tr>${row.map((one) => html`<td>${cell(one.tokens)}</td>`)}</tr>`);
        return html`<div class="table" tabindex="0" role="region" aria-label="Table ${rendering.#blocks}"><table><thead>${head}</thead><tbody>${body}</tbody></table></div>\n`
          .markup;
      },
      link(this: Inline, { href, tokens }: Tokens.Link): string {
        const words = new Html(this.parser.parseInline(tokens));
        const target = resolveLink(href, rendering.#guide, rendering.#guides);
        return target === undefined ? words.markup : html`<a href="${target}">${words}</a>`.markup;
      },
      checkbox({ checked }: Tokens.Checkbox): string {
        // A list for paper: a box that cannot be ticked, and has no label, would be a form to screen readers.
        return html`<span aria-hidden="true">${checked ? '☑' : '☐'}</span> `.markup;
      },
      html(): string {
        return '';
      },
    };
  }

  #addHeading(text: string, depth: number): string {
    const anchor = anchorOf(text);
    const same = this.headings.filter(({ id }) => id === anchor || id.startsWith(`${anchor}-`)).length;
    const isTaken = this.headings.some(({ id }) => id === anchor);
    const id = isTaken ? `${anchor}-${same}` : anchor;
    this.headings.push({ id, title: plainText(text), depth });
    return id;
  }

  #codeBlock(code: Html, title: string): Html {
    this.#blocks += 1;
    const id = `code-${this.#blocks}`;
    const label = `${title}, block ${this.#blocks}`;
    return html`<figure class="code">
<figcaption class="code-head"><span>${title}</span>${copyButton(id, label, LOCALES.en)}</figcaption>
<pre tabindex="0" role="region" aria-label="${label}"><code id="${id}">${code}</code></pre>
</figure>
`;
  }
}

/** What the parser offers to its renderer. */
interface Inline {
  parser: { parseInline(tokens: Token[]): string };
}

const LANGUAGE_NAMES: Readonly<Record<string, string>> = {
  sh: 'Shell',
  js: 'JavaScript',
  ts: 'TypeScript',
  python: 'Python',
  json: 'JSON',
  toml: 'TOML',
  yaml: 'YAML',
  ini: 'INI',
  sql: 'SQL',
};

/** As forges make it. */
export function anchorOf(heading: string): string {
  const plain = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '');
  return plain.replaceAll(' ', '-');
}

/** What pages for developers of the gateway weigh in the search: below what users and operators read. */
const DEVELOP_WEIGHT = 0.2;

/** Each section of a guide, for the search. Its Vietnamese title finds it too. */
export function guideEntries(guide: Guide): SearchEntry[] {
  const place = `${placeOf(guide)}, ${guide.title}`;
  const weight = guide.file.startsWith('develop/') ? DEVELOP_WEIGHT : 1;
  return sectionsOf(guide.markdown.replace(/<!--[\s\S]*?-->/g, '')).flatMap((section) => {
    const [, marks = '', heading = ''] = /^(#{1,3}) (.+)$/.exec(section.split('\n', 1)[0] ?? '') ?? [];
    if (heading === '') return [];
    const content = section.slice(section.indexOf('\n') + 1);
    const [text, prose] = [plainText(content), proseOf(content)];
    const url = marks.length === 1 ? guide.url : `${guide.url}#${anchorOf(heading)}`;
    const title = plainText(heading);
    const names = LOCALES.vi.texts.documentation.guides[guide.file]?.parts[title];
    return [{ title, url, place, text, prose, weight, ...(names !== undefined && { names }) }];
  });
}

/** Cut before each heading. A line of code that begins with `#` is none. */
function sectionsOf(markdown: string): string[] {
  const sections: string[][] = [[]];
  let fence: string | undefined;
  for (const line of markdown.split('\n')) {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence)) fence = undefined;
    if (fence === undefined && /^#{1,3} /.test(line)) sections.push([]);
    sections.at(-1)?.push(line);
  }
  return sections.map((lines) => lines.join('\n'));
}

const CODE_AND_TABLES = /^ {0,3}```[\s\S]*?^ {0,3}```$|^\|.*$/gm;

/** Paragraphs and lists without code and tables; a point of a list is a sentence. */
function proseOf(markdown: string): string {
  const lines = markdown.replace(CODE_AND_TABLES, '').split('\n');
  return plainText(
    lines
      .map((line) => line.replace(/^ *(?:[-*]|\d+\.) (.*[^.:])$/, '$1.').replace(/^ *(?:[-*]|\d+\.) /, ''))
      .join('\n'),
  );
}

/** Markdown without its marks. */
function plainText(markdown: string): string {
  return markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\|?(?:-+\|)+-*$/gm, '')
    .replace(/^```\w*$/gm, '')
    .replace(/[`*]/g, '')
    .replaceAll('|', ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
