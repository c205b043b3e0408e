/*
 * A field of a day. It is text in one form for all languages, which its name states: a browser writes its own date fields
 * in its language, not in that of the page.
 */

import type { Locale } from '../language/index.js';
import { type Html, html } from '../page.js';

export interface DayInput {
  id: string;
  name: string;
  /** `2026-06-15`; empty for none. */
  value: string;
  /** Shown where the field is empty. */
  example: string;
  /** Id of the element with the hint. Default: there is none. */
  describedBy?: string;
}

/** @param label Of the day alone. */
export function dayField(label: string, input: DayInput, { texts: { words } }: Locale, hint?: Html): Html {
  const { id, name, value, example, describedBy } = input;
  const described = describedBy !== undefined && html` aria-describedby="${describedBy}"`;
  return html`<div class="field"><label for="${id}">${words.spans.inForm(label)}</label><input class="input" id="${id}" name="${name}" value="${value}" inputmode="numeric" maxlength="10" pattern="[0-9]{4}-[0-9]{2}-[0-9]{2}" title="${words.spans.format(example)}" placeholder="${example}" autocomplete="off"${described}>${hint}</div>`;
}
