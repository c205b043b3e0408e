/*
 * Reads webhooks about bank transfers in three formats: the generic one, payOS and SePay. Signatures are compared in
 * constant time, and before the timestamp, so that a sender without the secret learns nothing about the clock of this
 * gateway. A signed time may be 5 minutes away at most. payOS signs a text in which one field could be read as two;
 * only unambiguous bodies are accepted, so that a known signed body cannot be rearranged. What is no incoming transfer
 * yields undefined.
 */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError, isRecord, type JsonRecord } from '../../core/runtime/index.js';
import { isDay, parseIsoTime } from '../format/index.js';
import type { BankTransaction } from './order-records.js';

/** A webhook about an incoming transfer. */
export interface PaymentNotice {
  headers: IncomingHttpHeaders;
  bytes: Uint8Array;
  /** Its body. */
  body: Readonly<Record<string, unknown>>;
  /** Secret shared with the sender. */
  secret: string;
  /** Milliseconds since 1970. */
  now: number;
}

export type NoticedTransfer = Omit<BankTransaction, 'provider'>;

/**
 * Reads the webhook of one sender: the transfer; undefined if it is about something else.
 * @throws GatewayError `invalid_signature`, `invalid_value` with `param`.
 */
export type NoticeReader = (notice: PaymentNotice) => NoticedTransfer | undefined;

const TOLERANCE_MS = 5 * 60 * 1000;

/** The parts of a signature over a time and a body. */
export interface TimedSignature {
  /** Seconds since 1970, as it was sent. */
  timestamp: string;
  /** HMAC-SHA256 in hex. */
  signature: string;
}

/** @throws GatewayError `invalid_signature` for a wrong one, and for a time that is 5 minutes away or more. */
export function checkTimedSignature(
  { bytes, secret, now }: PaymentNotice,
  { timestamp, signature }: TimedSignature,
): void {
  const hmac = createHmac('sha256', secret).update(`${timestamp}.`).update(bytes).digest('hex');
  const isRight = isSame(signature, hmac);
  // In this order, so that a sender without the secret learns nothing about our clock.
  if (!isRight) throw badSignature();
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Number(timestamp) * 1_000 - now) > TOLERANCE_MS) {
    throw new GatewayError('invalid_signature', 'The signature is more than 5 minutes old, or the clocks differ.');
  }
}

/** Constant time, for any length and position of a difference. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

export function badSignature(): GatewayError {
  return new GatewayError('invalid_signature', 'The signature is missing or wrong.');
}

/** A header that is sent once; empty otherwise. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : '';
}

/** @throws GatewayError `invalid_value`. */
export function textField(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  if (typeof value === 'string') return value;
  throw badField(name, 'a string');
}

/** Whole minor units. @throws GatewayError `invalid_value`. */
export function amountField(body: Readonly<Record<string, unknown>>, name: string): number {
  const value = body[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw badField(name, 'a whole number of minor units above 0');
}

export function badField(param: string, accepted: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

/** Banks in Vietnam send local time without a zone: `2026-06-15 18:25:00`. @throws GatewayError `invalid_value`. */
export function vietnamTime(body: Readonly<Record<string, unknown>>, name: string): number {
  const text = textField(body, name);
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)$/.exec(text) ?? [];
  const at = day !== undefined && isDay(day) ? Date.parse(`${day}T${time}+07:00`) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw badField(name, 'a time such as 2026-06-15 18:25:00');
}

/**
 * The generic format for any sender with the secret: `id`, `amount` (minor units), `currency`, `text` and `at` (ISO
 * 8601), with `X-Mediagate-Timestamp` (seconds since 1970) and `X-Mediagate-Signature`: `sha256=` and the HMAC-SHA256
 * in hex of the timestamp, a dot and the body.
 */
export const readGenericNotice: NoticeReader = (notice: PaymentNotice) => {
  const { headers, body } = notice;
  const [, signature = ''] = /^sha256=([0-9a-f]{64})$/.exec(headerOf(headers, 'x-mediagate-signature')) ?? [];
  checkTimedSignature(notice, { timestamp: headerOf(headers, 'x-mediagate-timestamp'), signature });
  const currency = textField(body, 'currency');
  if (!/^[A-Z]{3}$/.test(currency)) throw badField('currency', 'three capital letters of ISO 4217');
  return {
    id: textField(body, 'id'),
    amount: amountField(body, 'amount'),
    currency,
    text: textField(body, 'text'),
    at: timeOf(textField(body, 'at')),
  };
};

function timeOf(text: string): number {
  const at = isDay(text) ? undefined : parseIsoTime(text);
  if (at !== undefined) return at;
  throw badField('at', 'a time such as 2026-06-15T18:25:00Z');
}

const SUCCESS = '00';

/**
 * The format of payOS: `data` and a signature over its fields, sorted by name. It contains no time; ids are counted
 * once.
 */
export const readPayosNotice: NoticeReader = ({ body, secret }) => {
  const { data, signature } = body;
  if (!isRecord(data) || typeof signature !== 'string') throw badSignature();
  const hmac = createHmac('sha256', secret).update(signedText(data)).digest('hex');
  if (!isSame(signature, hmac)) throw badSignature();
  checkUnambiguous(data);
  // The code beside it is not signed.
  if (data.code !== SUCCESS) return undefined;
  const { currency = 'VND' } = data;
  if (typeof currency !== 'string') throw badField('currency', 'a string');
  return {
    id: textField(data, 'reference'),
    amount: amountField(data, 'amount'),
    currency,
    text: textField(data, 'description'),
    at: vietnamTime(data, 'transactionDateTime'),
  };
};

/** `amount=3000&code=00&…` */
function signedText(data: JsonRecord): string {
  return Object.keys(data)
    .sort()
    .map((name) => `${name}=${signedValue(data[name])}`)
    .join('&');
}

/**
 * The signature is over text in which one field could be read as two: `description=A&reference=B` is a description, or
 * a description and a reference. Only unambiguous text is accepted: each `&` that is followed by `name=` begins a
 * field, and no name contains either character. So a known signed body cannot be rearranged into other fields.
 */
function checkUnambiguous(data: JsonRecord): void {
  for (const name of Object.keys(data)) {
    if (!/^[\w.-]+$/.test(name)) throw badField('data', 'an object whose names are letters, digits and _ . - alone');
    if (/&[^&]*=/.test(signedValue(data[name]))) {
      throw badField(`data.${name}`, 'text without "&" before "=": the signature would not tell it from a field');
    }
  }
}

function signedValue(value: unknown): string {
  if (value === null || value === 'null' || value === 'undefined') return '';
  if (Array.isArray(value)) return JSON.stringify(value.map((each) => (isRecord(each) ? sorted(each) : each)));
  return isRecord(value) ? JSON.stringify(sorted(value)) : String(value);
}

function sorted(fields: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The format of SePay for transfers in đồng, signed with the secret or, if so configured, containing it. */
export const readSepayNotice: NoticeReader = (notice) => {
  authenticate(notice);
  const { body } = notice;
  const { id, transferType } = body;
  if (transferType !== 'in') return undefined;
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) throw badField('id', 'a whole number');
  return {
    id: String(id),
    amount: amountField(body, 'transferAmount'),
    currency: 'VND',
    text: textField(body, 'content'),
    at: vietnamTime(body, 'transactionDate'),
  };
};

function authenticate(notice: PaymentNotice): void {
  const { headers, secret } = notice;
  const [, signature] = /^sha256=([0-9a-f]{64})$/.exec(headerOf(headers, 'x-sepay-signature')) ?? [];
  const [, sentKey] = /^apikey +(\S+)$/i.exec(headerOf(headers, 'authorization')) ?? [];
  if (signature !== undefined) {
    checkTimedSignature(notice, { timestamp: headerOf(headers, 'x-sepay-timestamp'), signature });
  } else if (sentKey === undefined || !isSame(sentKey, secret)) throw badSignature();
}
