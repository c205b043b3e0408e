/*
 * A field of a day, by UTC. It shows and takes the day as the page writes days, as text, so that it works without scripts;
 * a button beside it opens a calendar: see browser/calendar.ts. A browser would write its own date fields in its language,
 * not in that of the page.
 */

import { type Locale, readTypedDay } from '../language/index.js';
import { type Html, html } from '../page.js';

export interface DayInput {
  id: string;
  name: string;
  /** `2026-06-15`; empty for none. Anything else is shown as it is. */
  value: string;
  /** Says how a day is written, and is shown where the field is empty. */
  example: string;
  /** What an empty field means, shown in place of the example. */
  placeholder?: string | undefined;
  /** First and last day that the calendar offers. Default: all. */
  min?: string | undefined;
  max?: string | undefined;
  /** Id of the element with the hint. Default: there is none. */
  describedBy?: string;
}

/** A sheet with two rings. */
const ICON = html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 6.5h12M5 1.5v3m6-3v3M3 3h10a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1z"/></svg>`;

/** @param label Of the day alone. */
export function dayField(label: string, input: DayInput, { texts: { words }, dayText }: Locale, hint?: Html): Html {
  const written = (text: string) => (readTypedDay(text) === text ? dayText(Date.parse(text)) : text);
  const { id, name, value, example, placeholder = written(example), min, max, describedBy } = input;
  const { spans: t } = words;
  const described = describedBy !== undefined && html` aria-describedby="${describedBy}"`;
  const limits = html`${min !== undefined && html` data-min="${min}"`}${max !== undefined && html` data-max="${max}"`}`;
  return html`<div class="field"><label for="${id}">${label}</label><span class="day"><input class="input" id="${id}" name="${name}" value="${written(value)}" maxlength="20" pattern="${t.pattern}" title="${t.format(written(example))}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"${described}><button type="button" class="day-open needs-script" aria-haspopup="dialog" aria-label="${t.choose(label)}" data-day${limits}>${ICON}</button></span>${hint}</div>`;
}

type Query = Readonly<Record<string, string | string[] | undefined>>;

/** The query with its days in ISO 8601. What is none stays, and is refused where it is read. */
export function withTypedDays(query: Query): Query {
  const { from, to } = query;
  const read = (day: Query[string]) => (typeof day === 'string' ? (readTypedDay(day) ?? day) : day);
  return { ...query, from: read(from), to: read(to) };
}
