/*
 * The receiving account and the QR codes of banking apps: VietQR (EMVCo fields with a CRC-16) and EPC069-12 for
 * transfers in euros within SEPA. The settings of the account are checked together, with one line for each that is
 * missing or wrong; IBANs by their check digits. The payload for the longest possible order must fit into the 331 bytes
 * of EPC. The text of a SEPA transfer is the order's code as a creditor reference of ISO 11649. The drawing library is
 * loaded with the first code.
 */

import { isVisible } from '../format/index.js';

/** Formats of banking apps: `vietqr` in Vietnam, `epc` within SEPA. */
export type PaymentFormat = 'vietqr' | 'epc';

export const PAYMENT_FORMATS: readonly PaymentFormat[] = ['vietqr', 'epc'];

/** The receiving account. */
export interface PaymentReceiver {
  format: PaymentFormat;
  bankName: string;
  /** BIN of six digits for `vietqr`; BIC, or null, for `epc`. */
  bankBin: string | null;
  /** For `epc` an IBAN. */
  accountNumber: string;
  accountName: string;
}

/** The settings that define it. */
export interface ReceiverSettings {
  paymentFormat: PaymentFormat;
  paymentBankName?: string;
  paymentBankBin?: string;
  paymentAccount?: string;
  paymentAccountName?: string;
}

/** What a format can express; money in minor units. */
export const PAYABLE: Readonly<Record<PaymentFormat, { currency: string; max: number }>> = {
  vietqr: { currency: 'VND', max: 1_000_000_000_000 },
  epc: { currency: 'EUR', max: 99_999_999_999 },
};

const MAX_NAME = 70;

/** The receiver, or one line for each invalid setting; neither if nothing is set. */
export function readReceiver(settings: ReceiverSettings): { receiver?: PaymentReceiver; problems: readonly string[] } {
  const { paymentFormat: format, paymentBankBin, paymentAccount } = settings;
  const bankName = settings.paymentBankName ?? '';
  const accountName = settings.paymentAccountName ?? '';
  const accountNumber = compact(paymentAccount ?? '');
  const bankBin = compact(paymentBankBin ?? '') || null;
  if (!(bankName || bankBin || accountNumber || accountName)) return { problems: [] };
  const receiver = { format, bankName, bankBin, accountNumber, accountName };
  const rules = [
    ['PAYMENT_BANK_NAME', isName(bankName), NAME],
    ['PAYMENT_ACCOUNT_NAME', isName(accountName), NAME],
    ...(format === 'vietqr' ? vietQrRules(receiver) : epcRules(receiver)),
  ] as const;
  const given = new Map<string, string | null>([
    ['PAYMENT_ACCOUNT', accountNumber],
    ['PAYMENT_BANK_NAME', bankName],
    ['PAYMENT_ACCOUNT_NAME', accountName],
    ['PAYMENT_BANK_BIN', bankBin],
  ]);
  const [reason] = [...given].find(([, value]) => value) ?? [];
  const problems = rules
    .filter(([, isValid]) => !isValid)
    .map(([name, , accepted]) =>
      given.get(name) ? `${name} must be ${accepted}.` : `${name} must be set as well, since ${reason} is.`,
    );
  if (problems.length > 0) return { problems };
  const bytes = format === 'epc' ? Buffer.byteLength(payloadOf(receiver, LONGEST)) : 0;
  if (bytes > EPC_MAX_BYTES) {
    return { problems: [`PAYMENT_ACCOUNT_NAME must be shorter: ${bytes - EPC_MAX_BYTES} bytes do not fit.`] };
  }
  return { receiver, problems };
}

/** The text of an order's transfer: the code, in the form that the format allows. */
export function contentOf({ format }: PaymentReceiver, code: string): string {
  return format === 'vietqr' ? code : creditorReference(code);
}

/** The payload of the QR code. `amount` is within {@link PAYABLE}. */
export function payloadOf(receiver: PaymentReceiver, { code, amount }: { code: string; amount: number }): string {
  const { format, bankBin, accountNumber, accountName } = receiver;
  const content = contentOf(receiver, code);
  if (format === 'vietqr') return encodeVietQr({ bankBin: bankBin ?? '', accountNumber, amount, purpose: content });
  return encodeEpc({ name: accountName, iban: accountNumber, bic: bankBin, amount, reference: content });
}

const NAME = `1 to ${MAX_NAME} visible characters`;
const LONGEST = { code: 'MG00000000', amount: PAYABLE.epc.max };

type Rule = readonly [setting: string, isValid: boolean, accepted: string];

function vietQrRules({ bankBin, accountNumber }: PaymentReceiver): Rule[] {
  return [
    ['PAYMENT_BANK_BIN', /^\d{6}$/.test(bankBin ?? ''), 'the six digits of the bank, for PAYMENT_FORMAT vietqr'],
    [
      'PAYMENT_ACCOUNT',
      /^[0-9A-Z]{1,19}$/.test(accountNumber),
      '1 to 19 letters and digits, for PAYMENT_FORMAT vietqr',
    ],
  ];
}

function epcRules({ bankBin, accountNumber }: PaymentReceiver): Rule[] {
  const isBic = bankBin === null || /^[A-Z]{6}[0-9A-Z]{2}([0-9A-Z]{3})?$/.test(bankBin);
  return [
    ['PAYMENT_BANK_BIN', isBic, 'a BIC, or not set, for PAYMENT_FORMAT epc'],
    ['PAYMENT_ACCOUNT', isIban(accountNumber), 'an IBAN with the right check digits, for PAYMENT_FORMAT epc'],
  ];
}

function isName(text: string): boolean {
  return [...text].length <= MAX_NAME && isVisible(text);
}

/** Without blanks: people write account numbers in groups. */
function compact(text: string): string {
  return text.replaceAll(/[ -]/g, '').toUpperCase();
}

/** A transfer in euros within SEPA. */
export interface EpcTransfer {
  /** At most 70 characters. */
  name: string;
  /** Without blanks. */
  iban: string;
  /** Null within the European Economic Area. */
  bic: string | null;
  /** Cents, from 1 to 99,999,999,999. */
  amount: number;
  /** Creditor reference of ISO 11649. */
  reference: string;
}

/** Maximum bytes of a payload. */
export const EPC_MAX_BYTES = 331;

/** The payload of EPC069-12, version 002: one line per field, up to the last one that is not empty. */
export function encodeEpc({ name, iban, bic, amount, reference }: EpcTransfer): string {
  const euros = `EUR${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, '0')}`;
  const [utf8, noPurpose] = ['1', ''];
  return ['BCD', '002', utf8, 'SCT', bic ?? '', name, iban, euros, noPurpose, reference].join('\n');
}

/** The creditor reference of ISO 11649 around 1 to 21 capital letters and digits, with its check digits. */
export function creditorReference(text: string): string {
  return `RF${String(98 - remainder97(`${text}RF00`)).padStart(2, '0')}${text}`;
}

/** Whether it has the form of an IBAN and correct check digits. */
export function isIban(text: string): boolean {
  return /^[A-Z]{2}\d{2}[0-9A-Z]{11,30}$/.test(text) && isChecked(text);
}

/** Whether the check digits of an IBAN or a creditor reference are right. */
export function isChecked(text: string): boolean {
  return remainder97(text.slice(4) + text.slice(0, 4)) === 1;
}

/** MOD 97-10 of ISO 7064; letters count from 10. */
function remainder97(text: string): number {
  let remainder = 0;
  for (const character of text) {
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder;
}

const OPTIONS = { errorCorrectionLevel: 'M', margin: 4 } as const;
/** Pixels of a module of the PNG. */
const SCALE = 8;

/** Draws a QR code with error correction M and its quiet zone: SVG markup without a size. */
export async function drawSvg(payload: string): Promise<string> {
  const { default: qrcode } = await import('qrcode');
  return qrcode.toString(payload, { ...OPTIONS, type: 'svg' });
}

/** Draws a QR code with error correction M and its quiet zone: a PNG with 8 pixels for each module. */
export async function drawPng(payload: string): Promise<Uint8Array> {
  const { default: qrcode } = await import('qrcode');
  return qrcode.toBuffer(payload, { ...OPTIONS, type: 'png', scale: SCALE });
}

/** A transfer in đồng to an account at a bank in Vietnam. */
export interface VietQrTransfer {
  /** Six digits, by NAPAS. */
  bankBin: string;
  /** 1 to 19 letters and digits. */
  accountNumber: string;
  /** Whole đồng, of 13 digits at most. */
  amount: number;
  /** Text of the transfer: 1 to 25 letters and digits. */
  purpose: string;
}

const NAPAS = 'A000000727';
const TO_ACCOUNT = 'QRIBFTTA';
const DONG = '704';
/** For one transfer of one amount. */
const DYNAMIC = '12';
const CHECKSUM = '6304';

/** The payload of VietQR: EMVCo's fields in NAPAS's order, the checksum last. */
export function encodeVietQr({ bankBin, accountNumber, amount, purpose }: VietQrTransfer): string {
  const beneficiary = field('00', bankBin) + field('01', accountNumber);
  const fields = [
    field('00', '01'),
    field('01', DYNAMIC),
    field('38', field('00', NAPAS) + field('01', beneficiary) + field('02', TO_ACCOUNT)),
    field('53', DONG),
    field('54', String(amount)),
    field('58', 'VN'),
    field('62', field('08', purpose)),
  ];
  const checked = fields.join('') + CHECKSUM;
  return checked + crc16(checked).toString(16).toUpperCase().padStart(4, '0');
}

/** Tag, length in two digits, value. */
function field(tag: string, value: string): string {
  return tag + String(value.length).padStart(2, '0') + value;
}

/** CRC-16/CCITT-FALSE of ASCII text: polynomial 1021, begun with FFFF. */
export function crc16(text: string): number {
  let crc = 0xffff;
  for (const byte of Buffer.from(text, 'latin1')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}
