/*
 * Seals the keys of servers that operators add, so that the database and its backups never have them in clear. They are
 * encrypted with AES-256-GCM under a key derived from the secret of API keys (`KEY_PEPPER`, or the one in the data
 * folder), which all nodes have in common; the id of the model is bound to it. When that secret is rotated, older ones
 * still open what was sealed under them. Without it a key cannot be read, and its model has to be added again.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const NAME = 'mediagate keys of added models 1';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** @param secrets Newest first. */
export function createSealer(secrets: readonly Uint8Array[]) {
  const keys = secrets.map((secret) => new Uint8Array(hkdfSync('sha256', secret, '', NAME, 32)));
  return {
    /** @param model Id of the model that it is for. */
    seal(model: string, text: string): string {
      const [key] = keys;
      if (!key) throw new Error('no secret is there to seal with');
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(model));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    /** @returns Undefined if it was sealed under another secret, or for another model. */
    open(model: string, sealed: string): string | undefined {
      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of keys) {
        try {
          const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
            .setAAD(Buffer.from(model))
            .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
          const text = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
          return Buffer.concat([text, decipher.final()]).toString('utf8');
        } catch {
          // Sealed under another one of the secrets.
        }
      }
      return undefined;
    },
  };
}

export type Sealer = ReturnType<typeof createSealer>;
