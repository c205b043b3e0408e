/*
 * Reads the incoming transfers of a bank's file, CSV or JSON, for operators whose bank sends no webhooks. The whole
 * file is checked before any transfer is counted; an error names the file and the line. CSV may be separated by commas
 * or semicolons and may have other columns; outgoing transfers are skipped. Amounts are converted to minor units by the
 * digits of their currency without binary fractions. A file may have 16 MiB.
 */

import { readFile, stat } from 'node:fs/promises';
import { isGatewayError } from '../../core/runtime/index.js';
import { isCurrency, minorDigits, parseIsoTime } from '../format/index.js';
import type { BankTransaction } from './order-records.js';
import { checkTransaction } from './order-transactions.js';

export type StatementTransfer = Omit<BankTransaction, 'provider'>;

const MAX_BYTES = 16 * 1024 * 1024;
const COLUMNS = ['id', 'amount', 'currency', 'text', 'at'] as const;

/** An invalid file. The message names it, and the line. */
export class BankStatementError extends Error {
  override readonly name = 'BankStatementError';
}

/**
 * Incoming transfers of a bank's file. CSV has columns `id`, `amount` (`12.34`), `currency`, `text` and `at` among
 * others, and outgoing transfers are skipped; JSON is a list of objects with these fields, the amount in minor units.
 * @throws BankStatementError
 */
export async function readBankStatement(file: string): Promise<readonly StatementTransfer[]> {
  const kind = /\.(csv|json)$/i.exec(file)?.[1]?.toLowerCase();
  if (kind === undefined) throw new BankStatementError(`${file} must end in .csv or .json.`);
  const text = await readText(file);
  const lines = kind === 'csv' ? await csvLines(file, text) : jsonLines(file, text);
  return lines.flatMap(({ name, values }) => {
    const problem = (what: string) => new BankStatementError(`${file}, ${name}: ${what}.`);
    const currency = values.currency?.toUpperCase() ?? '';
    if (!isCurrency(currency)) throw problem('currency must be an ISO 4217 code');
    const amount = kind === 'csv' ? minorUnits(values.amount, currency) : wholeNumber(values.amount);
    if (amount === undefined) throw problem(`amount is not a valid amount of ${currency}`);
    if (amount <= 0) return [];
    const { id = '', text: description = '', at: day = '' } = values;
    if (id === '' || id.length > 200) throw problem('id must have 1 to 200 characters');
    const at = parseIsoTime(day);
    if (at === undefined) {
      throw problem('at must be a day such as 2026-06-15, or a time such as 2026-06-15T18:25:00Z');
    }
    const transfer = { id, amount, currency, text: description, at };
    const unkept = reasonAgainst(transfer);
    if (unkept !== undefined) throw problem(unkept);
    return [transfer];
  });
}

/** Why it could not be stored: checked before any transfer of the file is counted. */
function reasonAgainst(transfer: StatementTransfer): string | undefined {
  try {
    checkTransaction({ ...transfer, provider: 'statement' });
    return undefined;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return error.message.replace(/\.$/, '');
  }
}

interface Line {
  /** Line or index, for error messages. */
  name: string;
  values: Readonly<Partial<Record<(typeof COLUMNS)[number], string>>>;
}

async function readText(file: string): Promise<string> {
  try {
    if ((await stat(file)).size > MAX_BYTES) throw new BankStatementError(`${file} is larger than ${MAX_BYTES} bytes.`);
    return (await readFile(file, 'utf8')).replace(/^\uFEFF/, '');
  } catch (cause) {
    if (cause instanceof BankStatementError) throw cause;
    throw new BankStatementError(`${file} cannot be read.`, { cause });
  }
}

async function csvLines(file: string, text: string): Promise<Line[]> {
  const [head, ...rows] = await readCsv(file, text);
  const names = (head?.cells ?? []).map((cell) => cell.trim().toLowerCase());
  const indexes = COLUMNS.map((column) => {
    const index = names.indexOf(column);
    if (index === -1) throw new BankStatementError(`${file} has no column ${column} in its first line.`);
    return [column, index] as const;
  });
  return rows.map(({ cells, line }) => ({
    name: `line ${line}`,
    values: Object.fromEntries(indexes.map(([column, index]) => [column, cells[index]?.trim()])),
  }));
}

interface CsvRow {
  cells: readonly string[];
  /** The line where it begins; the first is 1. */
  line: number;
}

/** CSV of spreadsheets and banks: separated by commas, or by semicolons if the first line has more of those. */
async function readCsv(file: string, text: string): Promise<CsvRow[]> {
  const { parse } = await import('csv-parse/sync');
  const [head = ''] = text.split(/[\r\n]/, 1);
  const options = {
    delimiter: head.split(';').length > head.split(',').length ? ';' : ',',
    relax_column_count: true,
    relax_quotes: true,
    skip_records_with_empty_values: true,
    info: true,
  } as const;
  try {
    // Only one kind of line end, since the parser would count two lines for CR and LF in quotes.
    const parsed: unknown[] = parse(text.replace(/\r\n?/g, '\n'), { ...options, record_delimiter: '\n' });
    // Its types omit what the option `info` adds.
    return (parsed as { record: string[]; info: { lines: number } }[]).map(({ record, info }) => {
      const breaks = record.join('').split('\n').length - 1;
      return { cells: record, line: info.lines - breaks };
    });
  } catch (cause) {
    // With these options it is the only possible error; the parser reports only the last line for it.
    throw new BankStatementError(`${file} cannot be read as CSV: a quoted cell does not end.`, { cause });
  }
}

function jsonLines(file: string, text: string): Line[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (cause) {
    throw new BankStatementError(`${file} is not JSON.`, { cause });
  }
  if (!Array.isArray(list)) throw new BankStatementError(`${file} is not a list.`);
  return list.map((each: unknown, index) => {
    const fields = Object.entries(typeof each === 'object' && each !== null ? each : {});
    const values = Object.fromEntries(fields.map(([name, value]) => [name, String(value ?? '')]));
    return { name: `number ${index + 1}`, values };
  });
}

/** `12.34` in cents; undefined if it is no amount of the currency. */
function minorUnits(text: string | undefined, currency: string): number | undefined {
  const [, sign, whole = '', part = ''] = /^([+-]?)(\d{1,12})(?:\.(\d+))?$/.exec(text ?? '') ?? [];
  const digits = minorDigits(currency);
  if (whole === '' || (part.length > digits && /[1-9]/.test(part.slice(digits)))) return undefined;
  const value = Number(whole + part.slice(0, digits).padEnd(digits, '0'));
  return sign === '-' ? -value : value;
}

function wholeNumber(text: string | undefined): number | undefined {
  return /^-?\d{1,13}$/.test(text ?? '') ? Number(text) : undefined;
}
