import { isIP } from 'node:net';
import { isLoopbackHost } from 'mediagate';

/** Readers of single values. Each throws an Error whose message says what is accepted, without repeating the value. */

const MIN_SECRET_LENGTH = 32;

export function hostName(text: string): string {
  if (isIP(text) === 0 && !/^[A-Za-z0-9.-]{1,253}$/.test(text)) throw new Error('an IP address or a host name');
  return text;
}

export function wholeNumber(text: string, minimum: number, maximum: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new Error(`a whole number from ${minimum} to ${maximum}`);
}

export function decimal(text: string, minimum: number, maximum: number): number {
  const value = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new Error(`a number from ${minimum} to ${maximum}`);
}

export function oneOf<Choice extends string>(text: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === text.toLowerCase());
  if (found === undefined) throw new Error(`one of ${choices.join(', ')}`);
  return found;
}

export function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function secrets(text: string): string[] {
  const values = list(text);
  if (values.length === 0 || values.some((value) => value.length < MIN_SECRET_LENGTH)) {
    throw new Error(`${MIN_SECRET_LENGTH} characters or more, or several such separated by commas`);
  }
  return values;
}

export function urlOf(text: string, protocols: readonly string[]): string {
  const url = URL.parse(text);
  if (!url || !protocols.includes(url.protocol))
    throw new Error(`a URL that begins with ${protocols.map((one) => `${one}//`).join(' or ')}`);
  if (!isEncoded(url.username) || !isEncoded(url.password))
    throw new Error('a URL whose user and password are percent-encoded');
  return text;
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

export function webAddress(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Error('an http or https address without user, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}

/** Of an identity provider. It is compared character by character, so it stays as it is written. */
export function issuerAddress(text: string): string {
  const url = URL.parse(text);
  const secure = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
  if (!url || !secure || url.search || url.hash || url.username) {
    throw new Error('an https address without user, query or fragment (http on a loopback address alone)');
  }
  return text;
}

export function origin(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash || url.username) {
    throw new Error('origins such as http://127.0.0.1:9000, separated by commas');
  }
  return url.origin;
}
