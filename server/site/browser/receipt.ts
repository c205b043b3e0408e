/*
 * Prints the receipt when its button is pressed.
 */

for (const button of document.querySelectorAll('[data-print]')) button.addEventListener('click', () => print());
