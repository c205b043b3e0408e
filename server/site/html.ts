/*
 * The template tag that builds HTML. It escapes each of its values, and refuses one in an unquoted attribute, where
 * escaping is not enough.
 */

/** HTML text; {@link html} creates it. */
export class Html {
  constructor(readonly markup: string) {}
}

/** Values of a template. Text is escaped; false, null and undefined are empty; of a list, every element. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

const checked = new WeakSet<TemplateStringsArray>();

/**
 * A template that escapes its values, for text between tags and for attributes in double quotes.
 * @throws Error if a value is in an unquoted attribute, where escaping is not enough.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  checkQuotes(strings);
  let text = strings[0] ?? '';
  values.forEach((value, index) => {
    text += render(value) + (strings[index + 1] ?? '');
  });
  return new Html(text);
}

/** Text with code in backticks. */
export function inline(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
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
