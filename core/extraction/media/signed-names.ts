/*
 * Names in public addresses that cannot be guessed or altered. A name contains its expiry, a MAC over everything, and a
 * text, all in base64url, so it needs no table and is valid on every node that has the secret. Older secrets stay valid
 * for existing names. Names made for one text within the same ten minutes are equal, so that a cached answer can be
 * sent unchanged; such a name is remembered, since a MAC is a twentieth of the cost of a cached answer. So is a name that
 * was opened: each request reads it twice, and a player makes many. Each purpose has names of its own: the name of an MP3
 * is not one of a media file.
 */

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../runtime/index.js';
import { boundedTable } from '../../storage/index.js';

/** Names made within this time are equal. */
const STEP_MS = 600_000;
const MAC_BYTES = 16;
const EXPIRY_BYTES = 4;
/** Length in base64: the longest accepted link, with some reserve. */
const MAX_NAME = 4_096;
const NAME = new RegExp(`^[A-Za-z0-9_-]{32,${MAX_NAME}}$`);

export interface SignedNamesOptions {
  /** At least 32 bytes each, newest first. */
  secrets: readonly Uint8Array[];
  /** What the names are of, for their MAC and for errors: `audio`. */
  purpose: string;
  /** Minimum milliseconds that a name is valid; it may be ten minutes more. */
  ttlMs: number;
}

export interface SignedName {
  name: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** What a name was signed for. */
interface OpenedName {
  text: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** Signs texts as names, and reads them back. */
export class SignedNames {
  /** Maximum milliseconds that a name made now stays valid. */
  readonly lifetimeMs: number;
  readonly #purpose: string;
  readonly #ttlMs: number;
  readonly #newest: KeyObject;
  readonly #secrets: readonly KeyObject[];
  readonly #signed = boundedTable<SignedName>(2_000);
  /** What genuine names say. */
  readonly #opened = boundedTable<OpenedName>(1_000);

  constructor({ secrets, purpose, ttlMs }: SignedNamesOptions) {
    // Raw bytes would be converted to a key object for every name, which costs six times as much as the hash.
    this.#secrets = secrets.map((secret) => createSecretKey(secret));
    const [newest] = this.#secrets;
    if (!newest) throw new Error('there is no secret to sign names with');
    this.#newest = newest;
    this.#purpose = purpose;
    this.#ttlMs = ttlMs;
    this.lifetimeMs = ttlMs + STEP_MS;
  }

  sign(text: string, now: number): SignedName {
    const expiresAt = Math.ceil((now + this.#ttlMs) / STEP_MS) * STEP_MS;
    const known = this.#signed.get(text);
    if (known?.expiresAt === expiresAt) return known;
    const expiry = Buffer.alloc(EXPIRY_BYTES);
    expiry.writeUInt32BE(expiresAt / 1000);
    const content = Buffer.from(text);
    const name = Buffer.concat([expiry, this.#macOf(this.#newest, expiry, content), content]).toString('base64url');
    const signed = { name, expiresAt };
    this.#signed.set(text, signed);
    return signed;
  }

  /**
   * What a name was signed for.
   * @throws GatewayError `file_not_found` if it was not signed here, `link_expired` if it has expired.
   */
  open(name: string, now: number): OpenedName {
    const opened = this.#opened.get(name) ?? this.#read(name);
    if (opened.expiresAt > now) return opened;
    throw new GatewayError('link_expired', `This ${this.#purpose} link has expired; extract the link again.`);
  }

  #read(name: string): OpenedName {
    const unknown = () => new GatewayError('file_not_found', `There is no such ${this.#purpose} link.`);
    if (!NAME.test(name)) throw unknown();
    const bytes = Buffer.from(name, 'base64url');
    // Base64 has several spellings of one value; only the one we made is valid.
    if (bytes.toString('base64url') !== name) throw unknown();
    const expiry = bytes.subarray(0, EXPIRY_BYTES);
    const given = bytes.subarray(EXPIRY_BYTES, EXPIRY_BYTES + MAC_BYTES);
    const content = bytes.subarray(EXPIRY_BYTES + MAC_BYTES);
    const genuine = this.#secrets.some(
      (secret) => given.length === MAC_BYTES && timingSafeEqual(given, this.#macOf(secret, expiry, content)),
    );
    if (!genuine) throw unknown();
    const opened = { text: content.toString(), expiresAt: expiry.readUInt32BE() * 1000 };
    this.#opened.set(name, opened);
    return opened;
  }

  /** A name for a storage, as hard to guess as the links to it, and the same for all of them. */
  derive(text: string): string {
    return createHmac('sha256', this.#newest).update(`${this.#purpose} file\n`).update(text).digest('base64url');
  }

  #macOf(secret: KeyObject, expiry: Uint8Array, content: Uint8Array): Buffer {
    const hash = createHmac('sha256', secret).update(`${this.#purpose}\n`).update(expiry).update(content);
    return hash.digest().subarray(0, MAC_BYTES);
  }
}
