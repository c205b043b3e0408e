/** Text that is HTML already; {@link html} makes it. */
export class Html {
  constructor(readonly markup: string) {}
}

/** What a template takes. Text is escaped; false, null and undefined are nothing; of a list, every member. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

const checked = new WeakSet<TemplateStringsArray>();

/**
 * A template whose values are escaped, for text between tags and for attributes in double quotes.
 * @throws Error where a value stands in an attribute without quotes: no escaping is enough there.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  checkQuotes(strings);
  let text = strings[0] ?? '';
  values.forEach((value, index) => {
    text += render(value) + (strings[index + 1] ?? '');
  });
  return new Html(text);
}

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.markup;
  if (Array.isArray(value)) return value.map(render).join('');
  if (value === false || value === null || value === undefined) return '';
  return escapeHtml(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function checkQuotes(strings: TemplateStringsArray): void {
  if (checked.has(strings)) return;
  for (const before of strings.slice(0, -1)) {
    if (/[=']$/.test(before)) throw new Error(`a value needs double quotes around it: ${before.slice(-40)}`);
  }
  checked.add(strings);
}
