import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from 'mediagate';
import { isDay } from '../format/index.js';
import type { BankTransaction } from './orders.js';

/** A request that says that money has come. */
export interface PaymentNotice {
  headers: IncomingHttpHeaders;
  bytes: Uint8Array;
  /** What they say. */
  body: Readonly<Record<string, unknown>>;
  /** Shared with the sender. */
  secret: string;
  /** Milliseconds since 1970. */
  now: number;
}

export type NoticedTransfer = Omit<BankTransaction, 'provider'>;

/**
 * Reads what one sender sends: the transfer; undefined where it tells of something else.
 * @throws GatewayError `invalid_signature`, `invalid_value` with `param`.
 */
export type NoticeReader = (notice: PaymentNotice) => NoticedTransfer | undefined;

const TOLERANCE_MS = 5 * 60 * 1000;

/** What a signature over a time and a body is made of. */
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
  // Looked at in this order, so that whoever has no secret learns nothing of our clock.
  if (!isRight) throw badSignature();
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Number(timestamp) * 1_000 - now) > TOLERANCE_MS) {
    throw new GatewayError('invalid_signature', 'This was signed more than 5 minutes ago, or the clocks differ.');
  }
}

/** Takes the same time wherever they differ, and however long they are. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

export function badSignature(): GatewayError {
  return new GatewayError('invalid_signature', 'The signature is missing, or it is not right.');
}

/** A header field that is there once; empty otherwise. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : '';
}

/** @throws GatewayError `invalid_value`. */
export function textMember(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  if (typeof value === 'string') return value;
  throw badMember(name, 'a string');
}

/** Whole minor units. @throws GatewayError `invalid_value`. */
export function amountMember(body: Readonly<Record<string, unknown>>, name: string): number {
  const value = body[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw badMember(name, 'a whole number of minor units above 0');
}

export function badMember(param: string, accepted: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

/** Banks in Vietnam tell local time without saying so: `2026-06-15 18:25:00`. @throws GatewayError `invalid_value`. */
export function vietnamTime(body: Readonly<Record<string, unknown>>, name: string): number {
  const text = textMember(body, name);
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)$/.exec(text) ?? [];
  const at = day !== undefined && isDay(day) ? Date.parse(`${day}T${time}+07:00`) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw badMember(name, 'a time such as 2026-06-15 18:25:00');
}
