/** An app with payments, and bank webhooks in the senders' formats. */

import { createHmac } from 'node:crypto';
import { readReceiver } from '../../../server/payments/index.js';
import type { ReceiverSettings } from '../../../server/payments/transfer-qr.js';
import { DEFAULT_CATALOGUE } from '../../../server/plans/index.js';
import { type SignInApp, type SignInAppOptions, startSignInApp } from '../accounts/sign-in-app.js';
import type { Answer } from '../http/listening-app.js';

export const DONG_ACCOUNT: ReceiverSettings = {
  paymentFormat: 'vietqr',
  paymentBankName: 'Vietcombank',
  paymentBankBin: '970436',
  paymentAccount: '1234567890',
  paymentAccountName: 'CONG TY TNHH MEDIAGATE',
};

export const EURO_ACCOUNT: ReceiverSettings = {
  paymentFormat: 'epc',
  paymentBankName: 'Stadtsparkasse',
  paymentAccount: 'DE89370400440532013000',
  paymentAccountName: 'Örtliche Werke GmbH',
};

export const PRICE = 299_000;

/** One plan can be bought, the others have no price. */
export const PRICED = {
  ...DEFAULT_CATALOGUE,
  prices: [{ planId: 'token_30m', amount: PRICE, currency: 'VND' }],
  support: { text: 'Write to us.', email: 'help@example.com', url: null },
};

export const SECRETS = {
  generic: 'generic-secret-of-at-least-32-characters',
  payos: 'payos-secret-of-at-least-32-characters-',
  sepay: 'sepay-secret-of-at-least-32-characters-',
};

export interface Customer {
  email: string;
  /** Of a page of the site. */
  headers: Record<string, string>;
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Orders the plan that has a price; its code. */
  order(): Promise<string>;
}

export interface PaymentApp extends SignInApp {
  customer(email: string): Promise<Customer>;
  status(code: string, query?: string): Promise<Answer>;
  webhook(provider: string, body: string, headers?: Record<string, string>): Promise<Answer>;
}

export async function startPaymentApp(options: SignInAppOptions = {}): Promise<PaymentApp> {
  const { receiver: paymentReceiver } = readReceiver(DONG_ACCOUNT);
  const app = await startSignInApp({ catalogue: PRICED, paymentReceiver, paymentSecrets: SECRETS, ...options });

  async function customer(email: string): Promise<Customer> {
    const browser = await app.signedIn(email);
    const cookie = `mediagate=${browser.cookie(app.url, 'mediagate')}`;
    const headers = { cookie, origin: app.url, 'content-type': 'application/json' };
    const post: Customer['post'] = (path, body, more = {}) =>
      app.request(path, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) });
    return {
      email,
      headers,
      get: (path) => app.request(path, { headers: { cookie } }),
      post,
      async order() {
        const { status, text, json } = await post('/api/agent/payment', { planId: 'token_30m' });
        if (status !== 201) throw new Error(`no order: ${status} ${text}`);
        return json.payment.code;
      },
    };
  }

  return {
    ...app,
    customer,
    status: (code, query = '') => app.request(`/api/payment/gateway?code=${code}${query}`),
    webhook: (provider, body, headers = {}) =>
      app.request(`/api/payment/webhook/${provider}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      }),
  };
}

export interface ToldTransfer {
  id: string;
  text: string;
  amount?: number;
  currency?: string;
}

export interface SignedNotice {
  body: string;
  headers: Record<string, string>;
}

/** As our own format has it. `at`: milliseconds since 1970 that it is signed at; `told`: when the money came. */
export function genericNotice(
  { id, text, amount = PRICE, currency = 'VND' }: ToldTransfer,
  { at = Date.now(), secret = SECRETS.generic, told = '2026-06-15T18:25:00+07:00' } = {},
): SignedNotice {
  const body = JSON.stringify({ id, amount, currency, text, at: told });
  return { body, headers: timedSignature('mediagate', body, at, secret) };
}

/** As SePay signs. */
export function sepayNotice(
  { id, text, amount = PRICE }: ToldTransfer,
  { at = Date.now(), secret = SECRETS.sepay, told = '2026-06-15 18:25:00' } = {},
): SignedNotice {
  const body = JSON.stringify({
    id: Number(id),
    gateway: 'Vietcombank',
    transactionDate: told,
    accountNumber: '1234567890',
    subAccount: null,
    code: null,
    content: text,
    transferType: 'in',
    description: text,
    transferAmount: amount,
    referenceCode: `VCB.${id}`,
    accumulated: 0,
  });
  return { body, headers: timedSignature('sepay', body, at, secret) };
}

/** As payOS signs: members of `data` by name. */
export function payosNotice(
  { id, text, amount = PRICE, currency = 'VND' }: ToldTransfer,
  { secret = SECRETS.payos, code = '00' } = {},
): SignedNotice {
  const data = {
    orderCode: 123,
    amount,
    description: text,
    accountNumber: '1234567890',
    reference: id,
    transactionDateTime: '2026-06-15 18:25:00',
    currency,
    paymentLinkId: '124c33293c43417ab7879e14c8d9eb18',
    code,
    desc: 'Thành công',
    counterAccountName: null,
    virtualAccountNumber: '',
  };
  const names = [
    'accountNumber',
    'amount',
    'code',
    'counterAccountName',
    'currency',
    'desc',
    'description',
    'orderCode',
    'paymentLinkId',
    'reference',
    'transactionDateTime',
    'virtualAccountNumber',
  ] as const;
  const signed = names.map((name) => `${name}=${data[name] ?? ''}`).join('&');
  const signature = createHmac('sha256', secret).update(signed).digest('hex');
  return { body: JSON.stringify({ code: '00', desc: 'success', success: true, data, signature }), headers: {} };
}

function timedSignature(sender: string, body: string, at: number, secret: string): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000));
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { [`x-${sender}-timestamp`]: timestamp, [`x-${sender}-signature`]: `sha256=${signature}` };
}
