import { createHmac } from 'node:crypto';
import {
  amountMember,
  badMember,
  badSignature,
  isSame,
  type NoticeReader,
  textMember,
  vietnamTime,
} from './payment-notice.js';

type Members = Readonly<Record<string, unknown>>;

const SUCCESS = '00';

/** What payOS sends: `data` and a signature over its members, sorted by name. There is no time in it; ids are counted once. */
export const readPayosNotice: NoticeReader = ({ body, secret }) => {
  const { data, signature, code } = body;
  if (!isMembers(data) || typeof signature !== 'string') throw badSignature();
  const hmac = createHmac('sha256', secret).update(signedText(data)).digest('hex');
  if (!isSame(signature, hmac)) throw badSignature();
  // payOS also asks whether anybody listens.
  if (code !== SUCCESS || data.code !== SUCCESS) return undefined;
  const { currency = 'VND' } = data;
  if (typeof currency !== 'string') throw badMember('currency', 'a string');
  return {
    id: textMember(data, 'reference'),
    amount: amountMember(data, 'amount'),
    currency,
    text: textMember(data, 'description'),
    at: vietnamTime(data, 'transactionDateTime'),
  };
};

/** `amount=3000&code=00&…` */
function signedText(data: Members): string {
  return Object.keys(data)
    .sort()
    .map((name) => `${name}=${signedValue(data[name])}`)
    .join('&');
}

function signedValue(value: unknown): string {
  if (value === null || value === 'null' || value === 'undefined') return '';
  if (Array.isArray(value)) return JSON.stringify(value.map((each) => (isMembers(each) ? sorted(each) : each)));
  return isMembers(value) ? JSON.stringify(sorted(value)) : String(value);
}

function sorted(members: Members): Members {
  return Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
