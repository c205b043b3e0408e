import { LRUCache } from 'lru-cache';
import type { FindAccount } from 'oidc-provider';

const MAX_PEOPLE = 1_000;

/** Whoever signed in here. Their address, in lower case, is who they are. */
export interface People {
  /** Their id; undefined where the address is none. */
  add(email: string, name: string): string | undefined;
  find: FindAccount;
}

export function createPeople(): People {
  const names = new LRUCache<string, string>({ max: MAX_PEOPLE });
  return {
    add(email, name) {
      const subject = email.trim().toLowerCase();
      if (!/^[^\s@]{1,64}@[^\s@]{1,135}$/.test(subject)) return undefined;
      names.set(subject, name.trim().slice(0, 100) || nameOf(subject));
      return subject;
    },
    find: (_context, subject) => ({
      accountId: subject,
      claims: () => ({
        sub: subject,
        email: subject,
        email_verified: true,
        name: names.get(subject) ?? nameOf(subject),
      }),
    }),
  };
}

function nameOf(email: string): string {
  return email.slice(0, email.indexOf('@'));
}
