/*
 * A dialog with the request of a chat as code, in three languages.
 */

import { LANGUAGES, type Language } from '../../docs/examples.js';
import { codeFigure, element } from '../elements.js';
import { textsOf } from '../texts.js';

const t = textsOf('playground-chat');

/** Shows the code, and removes it when it is closed. @param codeOf The code in a language. */
export function showCode(codeOf: (language: Language) => string): void {
  const frame = element('div', {});
  const choice = element(
    'fieldset',
    { class: 'row code-languages' },
    element('legend', { class: 'visually-hidden' }, t.language),
  );
  for (const [index, { id, title }] of LANGUAGES.entries()) {
    const box = element('input', { type: 'radio', name: 'code-language', value: id, checked: index === 0 });
    box.addEventListener('change', () => show(id, title));
    choice.append(element('label', { class: 'check' }, box, ` ${title}`));
  }
  const show = (language: Language, title: string) =>
    frame.replaceChildren(codeFigure('chat-code-text', title, codeOf(language), language));
  show(LANGUAGES[0].id, LANGUAGES[0].title);
  const heading = element('h2', { id: 'chat-code-title', class: 'h3' }, t.codeTitle);
  const close = element('button', { class: 'button button-quiet', value: 'close', autofocus: true }, t.close);
  const words = element('p', { class: 'small muted' }, t.codeWords);
  const form = element(
    'form',
    { method: 'dialog', class: 'stack' },
    heading,
    words,
    choice,
    frame,
    element('div', {}, close),
  );
  const dialog = element('dialog', { class: 'dialog-wide', 'aria-labelledby': heading.id }, form);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
