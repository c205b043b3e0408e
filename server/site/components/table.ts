/*
 * A table of rows and columns. It scrolls sideways if it is wide. On a phone a table of kind `stacked` shows each row as a
 * card: the first cell with the state at its end, below it the other cells with their names as a running text. Cells
 * without a value are left out there. Roles are stated, since browsers drop those of a table that is laid out otherwise.
 * A link of class `row-link` in the first cell makes the whole row lead there. A pager leads to older rows and back to the newest.
 */

import type { Locale } from '../language/index.js';
import { emptyState, type Html, type HtmlValue, html } from '../page.js';

export interface Column<Row> {
  head: string;
  /** Numbers stand at the end of their column. Default false. */
  isNumber?: boolean;
  /**
   * Where the cell is in the card of its row: `end` of the first line, or `line` of its own, both without its name.
   * Default: among the others, with its name.
   */
  inCard?: 'end' | 'line';
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
  /** Title above the first of the rows that follow each other and have the same. Default: there are none. */
  groupOf?(row: Row): string;
  /** What is shown without rows. */
  empty: { title: string; words: Html | string };
}

export function dataTable<Row>({ label, columns, rows, isStacked = false, groupOf, empty }: TableView<Row>): Html {
  if (rows.length === 0) return emptyState(empty.title, empty.words);
  const kind = isStacked && html` table-stacked`;
  return html`<div class="table${kind}" tabindex="0" role="region" aria-label="${label}"><table role="table">
<thead role="rowgroup"><tr role="row">${columns.map(
    ({ head, isNumber }) => html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}>${head}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map((row, index) => {
    const group = groupOf?.(row);
    const before = rows[index - 1];
    const isFirst = group !== undefined && (before === undefined || groupOf?.(before) !== group);
    return html`${isFirst && html`<tr class="table-group" role="row"><th scope="rowgroup" role="rowheader" colspan="${columns.length}">${group}</th></tr>`}${renderRow(row, columns, isStacked)}`;
  })}</tbody></table></div>`;
}

function renderRow<Row>(row: Row, [first, ...others]: readonly Column<Row>[], isStacked: boolean): Html {
  return html`<tr role="row">${first && html`<th scope="row" role="rowheader">${first.cell(row)}</th>`}${others.map(
    (column) =>
      isStacked
        ? renderInCard(column, row)
        : html`<td role="cell"${column.isNumber && html` class="number"`}>${column.cell(row)}</td>`,
  )}</tr>
`;
}

/** In a card the content of a cell is one part beside its name. */
function renderInCard<Row>({ head, isNumber, inCard, cell }: Column<Row>, row: Row): Html {
  const content = cell(row);
  const isNone = content === '–' || content === '' || content === false || content === null || content === undefined;
  const classes = [isNumber && 'number', isNone ? 'none' : inCard && `card-${inCard}`].filter(Boolean).join(' ');
  const name = inCard === undefined && html` data-head="${head}"`;
  return html`<td role="cell"${name}${classes !== '' && html` class="${classes}"`}><div>${content}</div></td>`;
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
