/*
 * A table of rows and columns. It scrolls sideways if it is wide. A column in which no row has a value is left out, and a
 * cell without one is faint. On a phone a table of kind `stacked` shows each row as a card: the first cell with the state at
 * its end, below it the other cells with their names as a running text, without empty ones and those that can wait for
 * the page of the row. Roles are stated, since browsers drop those of a table that is laid out otherwise.
 * A link of class `row-link` in the first cell makes the whole row lead there. A pager leads to older rows and back to the newest.
 */

import type { Locale } from '../language/index.js';
import { emptyState, Html, type HtmlValue, html } from '../page.js';

export interface Column<Row> {
  head: string;
  /** Numbers stand at the end of their column. Default false. */
  isNumber?: boolean;
  /** What can be done with the row: at the end, below a head for screen readers alone, in a card last. Default false. */
  isActions?: boolean;
  /**
   * Where the cell is in the card of its row: `end` of the first line, a `line` of its own, or `plain` among the others,
   * all without its name; `foot` and `edge`: the start and the end of the last line, `foot` with a `cardHead`; `time`: the end
   * of the first line of a dense row, without its details; `none`: it is left out; `only`: the table leaves it out.
   * Default: among the others, with its name.
   */
  inCard?: 'end' | 'line' | 'plain' | 'foot' | 'edge' | 'time' | 'none' | 'only';
  /** Its name in the card. Default: that above its column. */
  cardHead?: string;
  cell(row: Row): HtmlValue;
}

export interface TableView<Row> {
  /** For screen readers. */
  label: string;
  /** The first one names the row. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Whether rows are lists on a phone. Default: the table scrolls. */
  isStacked?: boolean;
  /** Whether the card of a row is two lines: how it ended, its name and time; below, everything else. Default false. */
  isDense?: boolean;
  /** Whether the card of a row has its figures in columns, below its name and what is at its end. Default false. */
  hasFigures?: boolean;
  /** Rows that follow each other and have the same stand below one title. Default: there are no titles. */
  groupOf?(row: Row): string;
  /** The title of such rows. Default: what they have the same. */
  titleOf?(rows: readonly [Row, ...Row[]]): HtmlValue;
  /** What is shown without rows. */
  empty: { title: string; words: Html | string };
}

export function dataTable<Row>(view: TableView<Row>): Html {
  const {
    label,
    columns,
    rows,
    isStacked = false,
    isDense = false,
    hasFigures = false,
    groupOf,
    titleOf,
    empty,
  } = view;
  if (rows.length === 0) return emptyState(empty.title, empty.words);
  const kind = html`${isStacked && ' table-stacked'}${isDense && ' table-dense'}${hasFigures && ' table-figures'}`;
  const written = rows.map((row) => columns.map(({ cell }) => valueIn(cell(row))));
  const shown = columns
    .map((column, index) => ({ column, index }))
    .filter(({ index }) => index === 0 || written.some((cells) => cells[index] !== undefined));
  return html`<div class="table${kind}" tabindex="0" role="region" aria-label="${label}"><table role="table">
<thead role="rowgroup"><tr role="row">${shown.map(
    ({ column: { head, isNumber, isActions, inCard } }) =>
      html`<th scope="col" role="columnheader"${inCard === 'only' ? html` class="card-only"` : isNumber && html` class="number"`}>${isActions ? html`<span class="visually-hidden">${head}</span>` : head}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map((row, at) => {
    const group = groupOf?.(row);
    const before = rows[at - 1];
    const isFirst = group !== undefined && (before === undefined || groupOf?.(before) !== group);
    const title = isFirst && titleOf ? titleOf(groupAt(rows, at, (one) => groupOf?.(one) === group)) : group;
    return html`${isFirst && html`<tr class="table-group" role="row"><th scope="rowgroup" role="rowheader" colspan="${shown.length}">${title}</th></tr>`}<tr role="row">${shown.map(
      ({ column, index }) => {
        const value = written[at]?.[index];
        if (index === 0) return html`<th scope="row" role="rowheader">${value}</th>`;
        return isStacked ? renderInCard(column, value) : renderCell(column, value);
      },
    )}</tr>
`;
  })}</tbody></table></div>`;
}

/** The rows from here on that belong together. */
function groupAt<Row>(rows: readonly Row[], at: number, belongs: (row: Row) => boolean): [Row, ...Row[]] {
  const others = rows.slice(at + 1);
  const end = others.findIndex((row) => !belongs(row));
  return [rows[at] as Row, ...(end === -1 ? others : others.slice(0, end))];
}

/** Undefined without a value. */
function valueIn(content: HtmlValue): HtmlValue | undefined {
  const text = content instanceof Html ? content.markup : content;
  return text === '–' || text === '' || text === false || text === null ? undefined : content;
}

function renderCell<Row>({ isNumber }: Column<Row>, value: HtmlValue): Html {
  const classes = [isNumber && 'number', value === undefined && 'none'].filter(Boolean).join(' ');
  return html`<td role="cell"${classes !== '' && html` class="${classes}"`}>${value}</td>`;
}

/** In a card the content of a cell is one part beside its name. */
function renderInCard<Row>({ head, isNumber, isActions, inCard, cardHead }: Column<Row>, value: HtmlValue): Html {
  const place = inCard && (value !== undefined || inCard === 'only') && `card-${inCard}`;
  const classes = [isNumber && 'number', isActions && 'row-actions', value === undefined && 'none', place]
    .filter(Boolean)
    .join(' ');
  const named = inCard === undefined || inCard === 'only' ? (cardHead ?? head) : inCard === 'foot' && cardHead;
  const name = named && !isActions && html` data-head="${named}"`;
  return html`<td role="cell"${name}${classes !== '' && html` class="${classes}"`}><div>${value}</div></td>`;
}

export interface PagerView {
  /** Address of the first page. Default: this is it. */
  newest?: string | undefined;
  /** Address of the next page. Default: there is none. */
  older?: string | undefined;
}

export function pager({ newest, older }: PagerView, { texts: { words: t } }: Locale): Html | false {
  if (newest === undefined && older === undefined) return false;
  return html`<nav class="row row-apart" aria-label="${t.pages}">
${newest === undefined ? html`<span></span>` : html`<a class="button button-quiet button-small" href="${newest}">${t.newest}</a>`}
${older !== undefined && html`<a class="button button-quiet button-small" href="${older}" rel="next">${t.older}</a>`}
</nav>`;
}
