/*
 * The environment variables of plans, prices and payments, as rows of the table in settings-table.ts.
 */

import path from 'node:path';
import { KEY_GRANTS } from '../keys/index.js';
import { PAYMENT_FORMATS, readPaymentSecrets } from '../payments/index.js';
import { currencyCode, list, oneOf, type SettingDescription } from './setting-values.js';

/** The variables of plans, prices and payments. */
export const PLAN_SETTINGS = [
  {
    name: 'PLANS_FILE',
    default: 'none',
    description: 'JSON file that changes and adds plans, prices and support contacts.',
    read: (text: string) => ({ plansFile: path.resolve(text) }),
  },
  {
    name: 'PRICES_FILE',
    default: 'none: no costs are known',
    description: 'JSON file with the prices of models and links, from which the costs in the usage log follow.',
    read: (text: string) => ({ pricesFile: path.resolve(text) }),
  },
  {
    name: 'PRICES_CURRENCY',
    default: 'that of `PRICES_FILE`, or `USD`',
    description: 'Currency (ISO 4217) of the prices in the plugins file.',
    read: (text: string) => ({ pricesCurrency: currencyCode(text) }),
  },
  {
    name: 'FREE_TIER_PERIOD',
    default: 'lifetime',
    description: 'When the request budget of the free tier resets: `lifetime` (never), `month` or `day` (UTC).',
    read: (text: string) => ({ freeTierPeriod: oneOf(text, ['lifetime', 'month', 'day'] as const) }),
  },
  {
    name: 'FREE_TIER_GRANTS',
    default: 'none: `text` alone',
    description:
      'Further grants of the free tier, comma-separated: `extract`, `images`, `audio`. With `audio`, it has the audio models too. Accounts get them with their next free plan.',
    read: (text: string) => ({ freeTierGrants: list(text).map((grant) => oneOf(grant, KEY_GRANTS)) }),
  },
  {
    name: 'PAYMENT_FORMAT',
    default: 'vietqr',
    description: 'Format of the payment QR code: `vietqr` (đồng, Vietnam) or `epc` (euros, SEPA).',
    read: (text: string) => ({ paymentFormat: oneOf(text, PAYMENT_FORMATS) }),
  },
  {
    name: 'PAYMENT_BANK_NAME',
    default: 'none: no payments are taken',
    description: 'Name of the bank that receives payments.',
    read: (text: string) => ({ paymentBankName: text }),
  },
  {
    name: 'PAYMENT_BANK_BIN',
    default: 'none',
    description: 'The six digits of the bank for `vietqr`; optional BIC for `epc`.',
    read: (text: string) => ({ paymentBankBin: text }),
  },
  {
    name: 'PAYMENT_ACCOUNT',
    default: 'none: no payments are taken',
    description: 'Account number for `vietqr`, IBAN for `epc`.',
    read: (text: string) => ({ paymentAccount: text }),
  },
  {
    name: 'PAYMENT_ACCOUNT_NAME',
    default: 'none: no payments are taken',
    description: 'Holder of the account, as the bank writes it.',
    read: (text: string) => ({ paymentAccountName: text }),
  },
  {
    name: 'PAYMENT_WEBHOOK_SECRET',
    default: 'none: operators confirm',
    description:
      'Providers of bank-transfer webhooks with their shared secrets (32 characters or more): `generic:SECRET,payos:SECRET,sepay:SECRET`, or some of them.',
    read: (text: string) => ({ paymentSecrets: readPaymentSecrets(text) }),
  },
] as const satisfies readonly (SettingDescription & { read(text: string): object })[];
