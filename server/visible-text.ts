/** What breaks a line, steers a terminal or is not seen. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** The text with a question mark for whatever is not seen: what others wrote, such as a bank, must not steer the terminal. */
export function shown(text: string): string {
  return text.replace(INVISIBLE, '?');
}

/** Whether there is a text, and all of it is seen. */
export function isVisible(text: string): boolean {
  return text !== '' && shown(text) === text;
}
