type Attributes = Readonly<Record<string, string | boolean | undefined>>;
type Child = Node | string | false | undefined;

/** An element with text and elements in it. Nothing becomes markup: whatever comes from outside stays text. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== false && child !== undefined));
  return made;
}

/** @throws Error where the page has none with that id. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`the page has no ${kind.name} #${id}`);
}

/** A link to somewhere else; text alone where the address is none of the web. */
export function webLink(url: string | undefined, words: string, attributes: Attributes = {}): HTMLElement {
  if (url === undefined || !/^https?:\/\//.test(url)) return element('span', {}, words);
  return element('a', { href: url, target: '_blank', rel: 'noopener noreferrer', ...attributes }, words);
}

/** Code with a button that copies it. */
export function codeFigure(id: string, title: string, text: string): HTMLElement {
  const copy = element(
    'button',
    { type: 'button', class: 'button button-quiet button-small copy', 'data-copy': id },
    element('span', { 'aria-live': 'polite' }, 'Copy'),
    element('span', { class: 'visually-hidden' }, ` ${title}`),
  );
  return element(
    'figure',
    { class: 'code code-tall' },
    element('figcaption', { class: 'code-head' }, element('span', {}, title), copy),
    element('pre', { tabindex: '0', role: 'region', 'aria-label': title }, element('code', { id }, text)),
  );
}
