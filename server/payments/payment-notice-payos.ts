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
  const { data, signature } = body;
  if (!isMembers(data) || typeof signature !== 'string') throw badSignature();
  const hmac = createHmac('sha256', secret).update(signedText(data)).digest('hex');
  if (!isSame(signature, hmac)) throw badSignature();
  checkUnambiguous(data);
  // What the code beside it says is signed by nobody.
  if (data.code !== SUCCESS) return undefined;
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

/**
 * The signature is over text in which one field could pass for two: `description=A&reference=B` is a description, or a
 * description and a reference. Only what can be read in one way is accepted: each `&` that is followed by `name=` begins a
 * field, and no name holds either mark. Who has seen one signed body cannot move words from one field to another then.
 */
function checkUnambiguous(data: Members): void {
  for (const name of Object.keys(data)) {
    if (!/^[\w.-]+$/.test(name)) throw badMember('data', 'an object whose names are letters, digits and _ . - alone');
    if (/&[^&]*=/.test(signedValue(data[name]))) {
      throw badMember(`data.${name}`, 'text without "&" before "=": the signature would not tell it from a field');
    }
  }
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
