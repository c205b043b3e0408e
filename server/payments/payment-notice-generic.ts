import { isDay, parseIsoTime } from '../format/index.js';
import {
  amountMember,
  badMember,
  checkTimedSignature,
  headerOf,
  type NoticeReader,
  type PaymentNotice,
  textMember,
} from './payment-notice.js';

/**
 * What anybody can send who has the secret, in `id`, `amount` (minor units), `currency`, `text` and `at` (ISO 8601), with
 * `X-Mediagate-Timestamp` (seconds since 1970) and `X-Mediagate-Signature`: `sha256=` and the HMAC-SHA256 in hex of the
 * timestamp, a dot and the body.
 */
export const readGenericNotice: NoticeReader = (notice: PaymentNotice) => {
  const { headers, body } = notice;
  const [, signature = ''] = /^sha256=([0-9a-f]{64})$/.exec(headerOf(headers, 'x-mediagate-signature')) ?? [];
  checkTimedSignature(notice, { timestamp: headerOf(headers, 'x-mediagate-timestamp'), signature });
  const currency = textMember(body, 'currency');
  if (!/^[A-Z]{3}$/.test(currency)) throw badMember('currency', 'three capital letters of ISO 4217');
  return {
    id: textMember(body, 'id'),
    amount: amountMember(body, 'amount'),
    currency,
    text: textMember(body, 'text'),
    at: timeOf(textMember(body, 'at')),
  };
};

function timeOf(text: string): number {
  const at = isDay(text) ? undefined : parseIsoTime(text);
  if (at !== undefined) return at;
  throw badMember('at', 'a time such as 2026-06-15T18:25:00Z');
}
