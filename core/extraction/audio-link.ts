import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { AudioLinkOptions } from '../gateway.js';
import { GatewayError } from '../runtime/index.js';
import type { AudioLink } from './requests.js';

const DAY_MS = 86_400_000;
/** Links made within the same ten minutes are equal, so that a cached answer can be sent as it is. */
const STEP_MS = 600_000;
const MAC_BYTES = 16;
const EXPIRY_BYTES = 4;
/** In base64; what the longest link that is accepted takes, and some more. */
const MAX_NAME = 4_096;
const NAME = new RegExp(`^[A-Za-z0-9_-]{32,${MAX_NAME}}$`);

/** Makes and reads the names of hosted MP3 files. */
export interface AudioLinks {
  /** A link for the item behind a canonical URL. Makes no request and stores nothing. */
  sign(canonicalUrl: string, now: number): AudioLink;
  /**
   * The canonical URL that a name was signed for.
   * @throws GatewayError `file_not_found` where it was not signed here, `link_expired` where its time is over.
   */
  open(name: string, now: number): { canonicalUrl: string; expiresAt: number };
  /** What an item's MP3 is stored as: the same for all its links, and as hard to guess as they are. */
  fileName(canonicalUrl: string): string;
  /** Milliseconds that a link made now will be honoured, at most. */
  readonly lifetimeMs: number;
}

/**
 * A name carries what it stands for: expiry, a MAC over everything, and the item's canonical URL. It cannot be guessed or
 * altered, needs no table, and works on every node that has the secret.
 */
export function createAudioLinks(options: AudioLinkOptions): AudioLinks {
  const ttlMs = options.ttlMs ?? DAY_MS;
  // Raw bytes would be turned into a key object for every link, which costs six times the hash.
  const [newest, ...older] = options.secrets.map((secret) => createSecretKey(secret));
  if (!newest) throw new Error('audioLinks.secrets is empty');

  const mac = (secret: KeyObject, expiry: Uint8Array, target: Uint8Array) =>
    createHmac('sha256', secret).update('audio\n').update(expiry).update(target).digest().subarray(0, MAC_BYTES);

  return {
    lifetimeMs: ttlMs + STEP_MS,
    fileName(canonicalUrl) {
      const digest = createHmac('sha256', newest).update('audio file\n').update(canonicalUrl).digest('base64url');
      return `audio_${digest}.mp3`;
    },
    sign(canonicalUrl, now) {
      const expiresAt = Math.ceil((now + ttlMs) / STEP_MS) * STEP_MS;
      const expiry = Buffer.alloc(EXPIRY_BYTES);
      expiry.writeUInt32BE(expiresAt / 1000);
      const target = Buffer.from(canonicalUrl);
      const name = Buffer.concat([expiry, mac(newest, expiry, target), target]).toString('base64url');
      return { url: `${options.baseUrl}/v1/extract/audio/${name}.mp3`, expiresAt: new Date(expiresAt).toISOString() };
    },

    open(name, now) {
      const unknown = () => new GatewayError('file_not_found', 'There is no such audio link.');
      if (!NAME.test(name)) throw unknown();
      const bytes = Buffer.from(name, 'base64url');
      // Base64 has several spellings of one value; only the one we made counts.
      if (bytes.toString('base64url') !== name) throw unknown();
      const expiry = bytes.subarray(0, EXPIRY_BYTES);
      const given = bytes.subarray(EXPIRY_BYTES, EXPIRY_BYTES + MAC_BYTES);
      const target = bytes.subarray(EXPIRY_BYTES + MAC_BYTES);
      const genuine = [newest, ...older].some(
        (secret) => given.length === MAC_BYTES && timingSafeEqual(given, mac(secret, expiry, target)),
      );
      if (!genuine) throw unknown();
      const expiresAt = expiry.readUInt32BE() * 1000;
      if (expiresAt <= now)
        throw new GatewayError('link_expired', 'This audio link has expired; extract the link again.');
      return { canonicalUrl: target.toString(), expiresAt };
    },
  };
}
