import { minorDigits } from '../format/index.js';
import { type Html, html } from './html.js';

const COUNT = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const MINUTE = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** `1,250,000` */
export function count(value: number): string {
  return COUNT.format(value);
}

/** `1.3M` */
export function shortCount(value: number): string {
  return SHORT.format(value);
}

/** `1 job`, `2 jobs`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `21 Nov 2026`, by UTC. @param at Milliseconds since 1970. */
export function day(at: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${DAY.format(at)}</time>`;
}

/** `21 Nov, 20:26 UTC`. @param at Milliseconds since 1970. */
export function minute(at: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${MINUTE.format(at)} UTC</time>`;
}

/** `€12.34`, `₫299,000`. @param amount Minor units of the currency. @param currency ISO 4217. */
export function money(amount: number, currency: string): string {
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(amount / 10 ** minorDigits(currency));
}

/** `23:59:08` of what is left. @param ms Milliseconds; less than none is none. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
