import type { Support } from '../plans/index.js';
import { type Html, html } from './html.js';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

export interface CodeView {
  /** Unique in the page. */
  id: string;
  /** What it is: `Shell`, `~/.codex/config.toml`. */
  title: string;
  text: string;
}

/** Code with a button that copies it. */
export function codeBlock({ id, title, text }: CodeView): Html {
  return html`<figure class="code">
<figcaption class="code-head"><span>${title}</span>${copyButton(id, title)}</figcaption>
<pre tabindex="0" role="region" aria-label="${title}"><code id="${id}">${text}</code></pre>
</figure>`;
}

/** Copies the text of the element with this id. @param what What that is, for whoever does not see it. */
export function copyButton(id: string, what: string): Html {
  return html`<button type="button" class="button button-quiet button-small copy needs-script" data-copy="${id}"><span aria-live="polite">Copy</span><span class="visually-hidden"> ${what}</span></button>`;
}

/**
 * Sends a form that a script takes care of, and can be pressed once the script is there: before, the browser would send the
 * form by itself, and what was written into it would stand in the page's address.
 *
 * @param kind Classes besides that of every button.
 */
export function scriptedButton(label: Html | string, kind = ''): Html {
  return html`<button class="button needs-script ${kind}" disabled>${label}</button>`;
}

export function badge(text: string, tone: Tone = 'plain'): Html {
  return html`<span class="badge badge-${tone}">${text}</span>`;
}

/** Says what would be here, and what to do so that it is. */
export function emptyState(title: string, words: Html | string): Html {
  return html`<div class="empty"><strong>${title}</strong><span>${words}</span></div>`;
}

/** How much is left of something; words beside it say the same. @param share Of one. */
export function bar(share: number): Html {
  const width = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10;
  const level = share <= 0 ? 'bar-out' : share < 0.15 ? 'bar-low' : 'bar-good';
  return html`<svg class="bar ${level}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="6"/></svg>`;
}

/** Where people turn to. */
export function supportWords({ text, email, url }: Support): Html {
  return html`${text}${email !== null && html` <a href="mailto:${email}">${email}</a>`}${url !== null && html` <a href="${url}" rel="noreferrer">${url}</a>`}`;
}
