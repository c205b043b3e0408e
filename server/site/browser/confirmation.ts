import { element } from './elements.js';

export interface Question {
  words: string;
  /** On the button that says yes. */
  yes: string;
  /** Whether it cannot be taken back. */
  isBad: boolean;
}

/** Asks before something is done. Resolves with false where the answer is no, or none. */
export function confirm({ words, yes, isBad }: Question): Promise<boolean> {
  const text = element('p', { id: 'question' }, words);
  const agree = element('button', { value: 'yes', class: isBad ? 'button button-bad' : 'button' }, yes);
  // A key that is held down a little too long says no.
  const refuse = element('button', { value: 'no', class: 'button button-quiet', autofocus: true }, 'Go back');
  const row = element('div', { class: 'row' }, agree, refuse);
  const form = element('form', { method: 'dialog', class: 'stack' }, text, row);
  const dialog = element('dialog', { 'aria-labelledby': text.id }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue === 'yes');
      dialog.remove();
    });
  });
}
