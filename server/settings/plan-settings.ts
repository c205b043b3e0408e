/*
 * The environment variables of plans, prices and payments, as rows of the table in settings-table.ts.
 */

import path from 'node:path';
import { KEY_GRANTS } from '../keys/index.js';
import { PAYMENT_FORMATS, readPaymentSecrets } from '../payments/index.js';
import { currencyCode, list, oneOf, type Setting } from './setting-values.js';

/** The variables of plans, prices and payments. */
export const PLAN_SETTINGS = [
  {
    name: 'PLANS_FILE',
    unset: 'none',
    description: 'JSON file that changes and adds plans, prices and support contacts.',
    read: (text) => ({ plansFile: path.resolve(text) }),
  },
  {
    name: 'PRICES_FILE',
    unset: 'none: no costs are known',
    description: 'JSON file with the prices of models and links, from which the costs in the usage log follow.',
    read: (text) => ({ pricesFile: path.resolve(text) }),
  },
  {
    name: 'PRICES_CURRENCY',
    unset: 'that of `PRICES_FILE`, or `USD`',
    description:
      'Currency (ISO 4217) of the prices in the plugins file, and of those that are set while the gateway runs.',
    read: (text) => ({ pricesCurrency: currencyCode(text) }),
  },
  {
    name: 'FREE_TIER_PERIOD',
    default: 'lifetime',
    description: 'When the request budget of the free tier resets: `lifetime` (never), `month` or `day` (UTC).',
    read: (text) => ({ freeTierPeriod: oneOf(text, ['lifetime', 'month', 'day'] as const) }),
  },
  {
    name: 'FREE_TIER_GRANTS',
    default: '',
    unset: 'none: `text` alone',
    description:
      'Further grants of the free tier, comma-separated: `extract`, `images`, `audio`. With `audio`, it has the audio models too. Accounts get them with their next free plan.',
    read: (text) => ({ freeTierGrants: list(text).map((grant) => oneOf(grant, KEY_GRANTS)) }),
  },
  {
    name: 'PREPAID_BALANCE',
    default: 'chosen',
    description:
      'Who may top up a prepaid balance by the packages of `PLANS_FILE`: `chosen` (accounts that an operator chose), `all`, or `off`. What is in a balance can be used with each.',
    read: (text) => ({ prepaidBalance: oneOf(text, ['chosen', 'all', 'off'] as const) }),
  },
  {
    name: 'PAYMENT_FORMAT',
    default: 'vietqr',
    description: 'Format of the payment QR code: `vietqr` (đồng, Vietnam) or `epc` (euros, SEPA).',
    read: (text) => ({ paymentFormat: oneOf(text, PAYMENT_FORMATS) }),
  },
  {
    name: 'PAYMENT_BANK_NAME',
    unset: 'none: no payments are taken',
    description: 'Name of the bank that receives payments.',
    read: (text) => ({ paymentBankName: text }),
  },
  {
    name: 'PAYMENT_BANK_BIN',
    unset: 'none',
    description: 'The six digits of the bank for `vietqr`; optional BIC for `epc`.',
    read: (text) => ({ paymentBankBin: text }),
  },
  {
    name: 'PAYMENT_ACCOUNT',
    unset: 'none: no payments are taken',
    description: 'Account number for `vietqr`, IBAN for `epc`.',
    read: (text) => ({ paymentAccount: text }),
  },
  {
    name: 'PAYMENT_ACCOUNT_NAME',
    unset: 'none: no payments are taken',
    description: 'Holder of the account, as the bank writes it.',
    read: (text) => ({ paymentAccountName: text }),
  },
  {
    name: 'PAYMENT_WEBHOOK_SECRET',
    default: '',
    unset: 'none: operators confirm',
    description:
      'Providers of bank-transfer webhooks with their shared secrets (32 characters or more): `generic:SECRET,payos:SECRET,sepay:SECRET`, or some of them.',
    read: (text) => ({ paymentSecrets: readPaymentSecrets(text) }),
  },
] as const satisfies readonly Setting[];
