/*
 * The text of API keys and tokens. A key is `sk-mg-`, a public id of 8 characters, a secret of 190 random bits, and a
 * checksum that detects a mistyped key without a lookup. Stored hashes are HMAC-SHA-256 with a pepper that is not in
 * the database; the hash is fast on purpose, since random bits cannot be guessed and a slow hash could overload the
 * server.
 */

import {
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'sk-mg-';
const ID_LENGTH = 8;
const SECRET_LENGTH = 32;
const CHECK_LENGTH = 6;
const NAMED = /^(?:sk-mg-)?([0-9A-Za-z]{8})(?:-…|-[0-9A-Za-z]{38})?$/;
const FORM = /^sk-mg-[0-9A-Za-z]{8}-[0-9A-Za-z]{38}$/;

/** Mixed into every stored hash: a copy of the database alone verifies no key. */
export interface Pepper {
  /** Stored beside each hash, so that keys made with an older pepper are still verified with it. */
  version: number;
  /** Created once: passing raw bytes to each HMAC costs six times the HMAC itself. */
  secret: KeyObject;
}

/** The version is derived from the secret, so that peppers need no numbering. */
export function createPepper(secret: Uint8Array): Pepper {
  // 31 bits, the size of a PostgreSQL integer column.
  const version = createHash('sha256').update('pepper version\n').update(secret).digest().readUInt32BE() >>> 1;
  return { version, secret: createSecretKey(secret) };
}

/**
 * A new key: `sk-mg-`, a public id of 8 characters, `-`, 32 random characters (190 bits), and a checksum of 6
 * characters over everything before it, which detects a mistyped key without a lookup.
 */
export function createKey(): KeyText {
  return composeKey(randomText(ID_LENGTH), randomText(SECRET_LENGTH));
}

/** Derives a key from 32 secret bytes: the same bytes always result in the same key. */
export function deriveKey(seed: Uint8Array): KeyText {
  const pairs = Buffer.from(hkdfSync('sha256', seed, '', 'mediagate key', 2 * (ID_LENGTH + SECRET_LENGTH)));
  // Two bytes per character: of 65,536 values, the bias between 62 characters is negligible.
  const text = Array.from({ length: ID_LENGTH + SECRET_LENGTH }, (_, index) =>
    ALPHABET.charAt(pairs.readUInt16BE(2 * index) % ALPHABET.length),
  ).join('');
  return composeKey(text.slice(0, ID_LENGTH), text.slice(ID_LENGTH));
}

/** A key, and its public id. */
export interface KeyText {
  id: string;
  key: string;
}

function composeKey(id: string, secret: string): KeyText {
  const body = `${PREFIX}${id}-${secret}`;
  return { id, key: body + checksum(body) };
}

/** A key as it may be displayed: `sk-mg-AbCd1234-…`. */
export function maskedKey(id: string): string {
  return `${PREFIX}${id}-…`;
}

/** The public id from any form of a key: the id alone, the key, or its displayed form. Undefined for anything else. */
export function namedKeyId(text: string): string | undefined {
  return NAMED.exec(text)?.[1];
}

/** The public id of a well-formed key; undefined if the form or the checksum is wrong. */
export function keyIdOf(key: string): string | undefined {
  if (!FORM.test(key)) return undefined;
  const body = key.slice(0, -CHECK_LENGTH);
  return checksum(body) === key.slice(-CHECK_LENGTH) ? key.slice(PREFIX.length, PREFIX.length + ID_LENGTH) : undefined;
}

/**
 * HMAC-SHA-256 of the whole key in hex. A fast hash is right for 190 random bits; a slow one could be used to overload
 * the server.
 */
export function hashKey(key: string, pepper: Pepper): string {
  return createHmac('sha256', pepper.secret).update(key).digest('hex');
}

/** In place of a hash, for a key without a secret. No key has it. */
export const NO_HASH = '';

/** Compares in constant time. */
export function isSameHash(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

function checksum(body: string): string {
  let value = crc32(body);
  let text = '';
  for (let digit = 0; digit < CHECK_LENGTH; digit += 1) {
    text = ALPHABET.charAt(value % ALPHABET.length) + text;
    value = Math.floor(value / ALPHABET.length);
  }
  return text;
}

/** 256 random bits, as 43 characters that any URL, cookie or header accepts. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** The stored hash of a token. A fast hash is right, since 256 bits cannot be guessed. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Distinguishes device tokens from API keys and session tokens, for people and scanners. */
const DEVICE_PREFIX = 'mgd_';

export function newDeviceToken(): string {
  return DEVICE_PREFIX + newToken();
}

/** Prefixes of the tokens of connected agents, which sign in by OAuth. */
const AGENT_ACCESS_PREFIX = 'mga_';
const AGENT_REFRESH_PREFIX = 'mgr_';

export function newAgentToken(kind: 'access' | 'refresh'): string {
  return (kind === 'access' ? AGENT_ACCESS_PREFIX : AGENT_REFRESH_PREFIX) + newToken();
}

/** Whether it is an access token of a connected agent. */
export function isAgentToken(text: string): boolean {
  return text.startsWith(AGENT_ACCESS_PREFIX) && isBrowserToken(text.slice(AGENT_ACCESS_PREFIX.length));
}

export function isBrowserToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

export function isDeviceToken(text: string): boolean {
  return text.startsWith(DEVICE_PREFIX) && isBrowserToken(text.slice(DEVICE_PREFIX.length));
}
