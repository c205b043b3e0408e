/*
 * Links that open the app of a Vietnamese bank with the transfer filled in, in the form that VietQR documents for
 * `dl.vietqr.io`. The page itself asks nothing there: a link sends amount, account and reference when the payer follows
 * it. Only receiving banks whose short name is known here have links.
 */

import type { PaymentTransfer } from './payment-service.js';

/** Apps that VietQR opens, by the names of people: the largest ones. */
const APPS: readonly (readonly [id: string, name: string])[] = [
  ['vcb', 'Vietcombank'],
  ['icb', 'VietinBank'],
  ['bidv', 'BIDV'],
  ['vba', 'Agribank'],
  ['tcb', 'Techcombank'],
  ['mb', 'MB Bank'],
  ['acb', 'ACB'],
  ['vpb', 'VPBank'],
  ['tpb', 'TPBank'],
  ['ocb', 'OCB'],
];

/** Short names of receiving banks by their BIN. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  970403: 'stb',
  970405: 'vba',
  970407: 'tcb',
  970415: 'icb',
  970416: 'acb',
  970418: 'bidv',
  970422: 'mb',
  970423: 'tpb',
  970426: 'msb',
  970431: 'eib',
  970432: 'vpb',
  970436: 'vcb',
  970437: 'hdb',
  970440: 'seab',
  970441: 'vib',
  970443: 'shb',
  970448: 'ocb',
};

export interface BankAppLink {
  name: string;
  url: string;
}

/** Empty if the transfer is no VietQR, or its bank is not known. */
export function bankAppLinks(transfer: PaymentTransfer): readonly BankAppLink[] {
  const { qr, bankBin, accountNumber, accountName, amount, content } = transfer;
  const bank = qr.format === 'vietqr' && bankBin !== null ? SHORT_NAMES[bankBin] : undefined;
  if (bank === undefined) return [];
  const [account, name, text] = [accountNumber, accountName, content].map(encodeURIComponent);
  const rest = `ba=${account}@${bank}&am=${amount}&tn=${text}&bn=${name}`;
  return APPS.map(([id, label]) => ({ name: label, url: `https://dl.vietqr.io/pay?app=${id}&${rest}` }));
}
