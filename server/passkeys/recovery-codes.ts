/*
 * Recovery codes, for a person who has lost all passkeys. An account has ten, each of 80 random bits, so a fast hash is
 * enough. They are shown once, when they are made, and each works once. New codes replace all earlier ones. Letters and
 * digits that look alike are not in them, and a typed O, I or L counts as the digit that it looks like.
 */

import { randomInt } from 'node:crypto';
import type { Tables, Transaction } from '../../core/database/index.js';
import { hashToken } from '../keys/index.js';

const COUNT = 10;
/** Crockford's Base32. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 16;
const GROUP = 4;

function newCode(): string {
  const code = Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
  return code.match(new RegExp(`.{${GROUP}}`, 'g'))?.join('-') ?? code;
}

/** Undefined if it cannot be a code. */
function hashOf(code: string): string | undefined {
  const plain = code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  const isCode = plain.length === LENGTH && [...plain].every((each) => ALPHABET.includes(each));
  return isCode ? hashToken(`mediagate recovery code\n${plain}`) : undefined;
}

/** Replaces all codes of a user, who is locked. @returns The new ones, as `XXXX-XXXX-XXXX-XXXX`. */
export async function renewRecoveryCodes(
  transaction: Transaction<Tables>,
  userId: string,
  createdAt: number,
): Promise<string[]> {
  const codes = Array.from({ length: COUNT }, newCode);
  await transaction.deleteFrom('recovery_codes').where('userId', '=', userId).execute();
  const rows = codes.map((code) => ({ hash: hashOf(code) as string, userId, createdAt }));
  await transaction.insertInto('recovery_codes').values(rows).execute();
  return codes;
}

/** Deletes a code. @returns Its user; undefined if there is no such code, or it was used. */
export async function takeRecoveryCode(transaction: Transaction<Tables>, code: string): Promise<string | undefined> {
  const hash = hashOf(code);
  if (hash === undefined) return undefined;
  const taken = await transaction
    .deleteFrom('recovery_codes')
    .where('hash', '=', hash)
    .returning('userId')
    .executeTakeFirst();
  return taken?.userId;
}
