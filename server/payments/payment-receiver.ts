import { isVisible } from '../format/index.js';
import { creditorReference, EPC_MAX_BYTES, encodeEpc, isIban } from './qr-epc.js';
import { encodeVietQr } from './qr-vietqr.js';

/** What a banking app reads: `vietqr` in Vietnam, `epc` within SEPA. */
export type PaymentFormat = 'vietqr' | 'epc';

export const PAYMENT_FORMATS: readonly PaymentFormat[] = ['vietqr', 'epc'];

/** The account that money goes to. */
export interface PaymentReceiver {
  format: PaymentFormat;
  bankName: string;
  /** BIN of six digits for `vietqr`; BIC, or null, for `epc`. */
  bankBin: string | null;
  /** For `epc` an IBAN. */
  accountNumber: string;
  accountName: string;
}

/** The settings that describe it. */
export interface ReceiverSettings {
  paymentFormat: PaymentFormat;
  paymentBankName?: string;
  paymentBankBin?: string;
  paymentAccount?: string;
  paymentAccountName?: string;
}

/** What a format can carry; money in minor units. */
export const PAYABLE: Readonly<Record<PaymentFormat, { currency: string; max: number }>> = {
  vietqr: { currency: 'VND', max: 1_000_000_000_000 },
  epc: { currency: 'EUR', max: 99_999_999_999 },
};

const MAX_NAME = 70;

/** The receiver, or one line for each setting that is not usable; neither where nothing is set. */
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
    .filter(([, isGood]) => !isGood)
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

/** What the transfer of an order says: the code, as the format carries it. */
export function contentOf({ format }: PaymentReceiver, code: string): string {
  return format === 'vietqr' ? code : creditorReference(code);
}

/** What the QR code says. `amount` is within what {@link PAYABLE} has. */
export function payloadOf(receiver: PaymentReceiver, { code, amount }: { code: string; amount: number }): string {
  const { format, bankBin, accountNumber, accountName } = receiver;
  const content = contentOf(receiver, code);
  if (format === 'vietqr') return encodeVietQr({ bankBin: bankBin ?? '', accountNumber, amount, purpose: content });
  return encodeEpc({ name: accountName, iban: accountNumber, bic: bankBin, amount, reference: content });
}

const NAME = `1 to ${MAX_NAME} characters, none of them invisible`;
const LONGEST = { code: 'MG00000000', amount: PAYABLE.epc.max };

type Rule = readonly [setting: string, isGood: boolean, accepted: string];

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

/** As it goes into a payload: people write account numbers in groups. */
function compact(text: string): string {
  return text.replaceAll(/[ -]/g, '').toUpperCase();
}
