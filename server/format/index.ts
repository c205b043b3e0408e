export { dayOf, isDay, parseIsoTime } from './calendar-day.js';
export { readCsv } from './csv.js';
export { renderDuration } from './duration-text.js';
export { isoTime } from './iso-time.js';
export { isCurrency, minorDigits, renderMoney } from './money.js';
export { shellWord } from './shell-word.js';
export { renderTable } from './text-table.js';
export { isVisible, shown } from './visible-text.js';
