export { isCurrency, minorDigits, renderMoney } from './amounts.js';
export { dayOf, isDay, isoTime, parseIsoTime, renderDuration } from './dates.js';
export { isVisible, renderTable, shellWord, shown } from './terminal.js';
