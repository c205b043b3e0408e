import {
  amountMember,
  badMember,
  badSignature,
  checkTimedSignature,
  headerOf,
  isSame,
  type NoticeReader,
  type PaymentNotice,
  textMember,
  vietnamTime,
} from './payment-notice.js';

/** What SePay sends of transfers in đồng, signed with the secret or, where it is set up so, showing it. */
export const readSepayNotice: NoticeReader = (notice) => {
  authenticate(notice);
  const { body } = notice;
  const { id, transferType } = body;
  if (transferType !== 'in') return undefined;
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) throw badMember('id', 'a whole number');
  return {
    id: String(id),
    amount: amountMember(body, 'transferAmount'),
    currency: 'VND',
    text: textMember(body, 'content'),
    at: vietnamTime(body, 'transactionDate'),
  };
};

function authenticate(notice: PaymentNotice): void {
  const { headers, secret } = notice;
  const [, signature] = /^sha256=([0-9a-f]{64})$/.exec(headerOf(headers, 'x-sepay-signature')) ?? [];
  const [, shown] = /^apikey +(\S+)$/i.exec(headerOf(headers, 'authorization')) ?? [];
  if (signature !== undefined) {
    checkTimedSignature(notice, { timestamp: headerOf(headers, 'x-sepay-timestamp'), signature });
  } else if (shown === undefined || !isSame(shown, secret)) throw badSignature();
}
