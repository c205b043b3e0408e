const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Whether ISO 4217 has it. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}

/** Digits after the point that a currency has: EUR 2, VND 0. */
export function minorDigits(currency: string): number {
  const { maximumFractionDigits = 0 } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  return maximumFractionDigits;
}

/** An amount in minor units as people write it: `12.34 EUR`, `299,000 VND`. */
export function renderMoney(amount: number, currency: string): string {
  const digits = minorDigits(currency);
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(amount / 10 ** digits).toLocaleString('en-US', options)} ${currency}`;
}

export interface CsvRow {
  cells: readonly string[];
  /** Where it begins; the first is 1. */
  line: number;
}

/**
 * Rows of CSV (RFC 4180), as spreadsheets and banks write it: separated by commas, or by semicolons where the first line has
 * more of those. Empty lines are left out.
 */
export function readCsv(text: string): CsvRow[] {
  const separator = separatorOf(text);
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let line = 1;
  let startsAt = 1;

  function endRow(): void {
    cells.push(cell);
    if (cells.some((each) => each.trim() !== '')) rows.push({ cells, line: startsAt });
    [cells, cell] = [[], ''];
  }

  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    const isDoubled = character === '"' && text[index + 1] === '"';
    const isEnd = character === '\n' || (character === '\r' && text[index + 1] !== '\n');
    if (isEnd) line += 1;
    if (isQuoted && isDoubled) {
      cell += '"';
      index += 1;
    } else if (isQuoted) {
      if (character === '"') isQuoted = false;
      else cell += character;
    } else if (character === '"' && cell === '') isQuoted = true;
    else if (character === separator) {
      cells.push(cell);
      cell = '';
    } else if (isEnd) {
      endRow();
      startsAt = line;
    } else if (character !== '\r') cell += character;
  }
  endRow();
  return rows;
}

function separatorOf(text: string): string {
  const [head = ''] = text.split(/[\r\n]/, 1);
  return head.split(';').length > head.split(',').length ? ';' : ',';
}
