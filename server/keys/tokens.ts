import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits, as 43 characters that any address, cookie or header takes. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What is kept of a token. A fast hash is right: nobody guesses 256 bits. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Tells the tokens of devices from API keys, for people as for scanners, and from what browsers hold. */
const DEVICE_PREFIX = 'mgd_';

export function newDeviceToken(): string {
  return DEVICE_PREFIX + newToken();
}

export function isBrowserToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

export function isDeviceToken(text: string): boolean {
  return text.startsWith(DEVICE_PREFIX) && isBrowserToken(text.slice(DEVICE_PREFIX.length));
}
