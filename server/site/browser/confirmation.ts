export interface Question {
  words: string;
  /** On the button that says yes. */
  yes: string;
  /** Whether it cannot be taken back. */
  isBad: boolean;
}

/** Asks before something is done. Resolves with false where the answer is no, or none. */
export function confirm({ words, yes, isBad }: Question): Promise<boolean> {
  const dialog = document.createElement('dialog');
  const form = document.createElement('form');
  form.method = 'dialog';
  form.className = 'stack';
  const text = document.createElement('p');
  text.id = 'question';
  text.textContent = words;
  const row = document.createElement('div');
  row.className = 'row';
  row.append(choice(yes, 'yes', isBad ? 'button button-bad' : 'button'), choice('Cancel', 'no', 'button button-quiet'));
  form.append(text, row);
  dialog.append(form);
  dialog.setAttribute('aria-labelledby', text.id);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue === 'yes');
      dialog.remove();
    });
  });
}

function choice(label: string, value: string, className: string): HTMLButtonElement {
  const button = document.createElement('button');
  button.textContent = label;
  button.value = value;
  button.className = className;
  return button;
}
