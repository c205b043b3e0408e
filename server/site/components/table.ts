/*
 * A table of rows and columns. It scrolls sideways if it is wide; on a phone a table of kind `stacked` shows each row as
 * a list of its cells with their names. Roles are stated, since browsers drop those of a table that is laid out
 * otherwise. A pager leads to older rows and back to the newest.
 */

import type { Locale } from '../language/index.js';
import { emptyState, type Html, type HtmlValue, html } from '../page.js';

export interface Column<Row> {
  head: string;
  /** Numbers stand at the end of their column. Default false. */
  isNumber?: boolean;
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
  /** What is shown without rows. */
  empty: { title: string; words: Html | string };
}

export function dataTable<Row>({ label, columns, rows, isStacked = false, empty }: TableView<Row>): Html {
  if (rows.length === 0) return emptyState(empty.title, empty.words);
  const kind = isStacked && html` table-stacked`;
  return html`<div class="table${kind}" tabindex="0" role="region" aria-label="${label}"><table role="table">
<thead role="rowgroup"><tr role="row">${columns.map(
    ({ head, isNumber }) => html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}>${head}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => renderRow(row, columns, isStacked))}</tbody></table></div>`;
}

/** In a list the content of a cell is one part beside its name. */
function renderRow<Row>(row: Row, [first, ...others]: readonly Column<Row>[], isStacked: boolean): Html {
  return html`<tr role="row">${first && html`<th scope="row" role="rowheader">${first.cell(row)}</th>`}${others.map(
    ({ head, isNumber, cell }) =>
      html`<td role="cell"${isStacked && html` data-head="${head}"`}${isNumber && html` class="number"`}>${
        isStacked ? html`<div>${cell(row)}</div>` : cell(row)
      }</td>`,
  )}</tr>
`;
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
