import { isoTime } from '../format/index.js';
import { SIGN_IN_INSTRUCTION } from '../http/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { type AccountAnswer, countGoodKeys, encodeAccountPlan, encodeUser } from './account-user.js';
import type { AccountRecord } from './accounts.js';
import type { SignedIn } from './session-store.js';

export interface SessionParts extends SignedIn {
  account: AccountRecord;
  keys: readonly ApiKeyRecord[];
}

/** Who is signed in, and whether they have a plan and keys. */
export function encodeSession({ user, session, account, keys }: SessionParts, answer: AccountAnswer) {
  return {
    authenticated: true,
    user: encodeUser(user),
    plan: account.plan && encodeAccountPlan(account.plan, answer),
    keys: { count: countGoodKeys(keys, answer.now) },
    kind: session.kind,
    expiresAt: isoTime(session.expiresAt),
  };
}

export function encodeSignedOut(siteUrl: string) {
  return { authenticated: false, loginUrl: `${siteUrl}/signin`, instruction: SIGN_IN_INSTRUCTION };
}
