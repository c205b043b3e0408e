/*
 * The tables of invitations, passkeys, recovery codes and pending ceremonies. An invitation, a challenge and a recovery
 * code are stored as SHA-256 hashes alone, and each is deleted when it is used. Of a passkey the public key is stored,
 * which is no secret, with the host name that browsers bound it to.
 */

import { type Migrations, sqlMigration } from '../../core/database/index.js';
import type { UserRole } from '../accounts/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    invitations: InvitationsTable;
    passkeys: PasskeysTable;
    passkey_challenges: PasskeyChallengesTable;
    recovery_codes: RecoveryCodesTable;
  }
}

/** Times are milliseconds since 1970. */
export interface InvitationsTable {
  /** SHA-256 of the secret in lower-case hex. */
  hash: string;
  /** `inv_` and 64 random bits: names it without giving it away. */
  id: string;
  role: UserRole;
  /** Suggested name of the person. */
  name: string | null;
  /** An existing user whose passkeys it replaces. Null: it makes a new user. */
  userId: string | null;
  /** JSON of the plan that the new account gets, as it was when the invitation was made. Null: none. */
  terms: string | null;
  /** Whether it ends when the gateway has an operator: 1 or 0. */
  isFirst: number;
  /** Actor, as in the audit log. */
  invitedBy: string;
  createdAt: number;
  expiresAt: number;
}

export interface PasskeysTable {
  /** Credential id, base64url, as the authenticator chose it. */
  id: string;
  userId: string;
  name: string;
  /** COSE key, base64url. */
  publicKey: string;
  /** Signatures that the authenticator has counted; one that does not count stays at 0. */
  counter: number;
  /** JSON array of hints how a browser reaches the authenticator. */
  transports: string;
  /** `synced` between devices of the person, or of one `device`. */
  kind: 'synced' | 'device';
  /** Host name that the browser bound it to. */
  host: string;
  createdAt: number;
  lastUsedAt: number | null;
}

export interface PasskeyChallengesTable {
  /** SHA-256 of the challenge. */
  hash: string;
  /** SHA-256 of the cookie of the browser that began. */
  browserHash: string;
  purpose: 'invitation' | 'addition' | 'sign-in';
  /** The user whose passkey is registered, who may not exist yet. Null for a sign-in. */
  userId: string | null;
  /** The invitation that is accepted. */
  invitationHash: string | null;
  /** Name of the new user. */
  name: string | null;
  expiresAt: number;
}

export interface RecoveryCodesTable {
  /** SHA-256 of the code without its dashes. */
  hash: string;
  userId: string;
  createdAt: number;
}

/** The tables of sign-in with invitations and passkeys. */
export const passkeyMigrations: Migrations = {
  '0004-passkeys': {
    ...sqlMigration(
      `create table invitations (
      hash text primary key, id text not null unique, role text not null, name text, "userId" text, "isFirst" integer not null,
      "invitedBy" text not null, "createdAt" bigint not null, "expiresAt" bigint not null)`,
      `create index invitations_expires_at on invitations ("expiresAt")`,
      `create table passkeys (
      id text primary key, "userId" text not null references users (id) on delete cascade, name text not null,
      "publicKey" text not null, counter bigint not null, transports text not null, kind text not null, host text not null,
      "createdAt" bigint not null, "lastUsedAt" bigint)`,
      `create index passkeys_user on passkeys ("userId", "createdAt")`,
      `create index passkeys_host on passkeys (host)`,
      `create table passkey_challenges (
      hash text primary key, "browserHash" text not null, purpose text not null, "userId" text, "invitationHash" text,
      name text, "expiresAt" bigint not null)`,
      `create index passkey_challenges_expires_at on passkey_challenges ("expiresAt")`,
      `create table recovery_codes (
      hash text primary key, "userId" text not null references users (id) on delete cascade, "createdAt" bigint not null)`,
      `create index recovery_codes_user on recovery_codes ("userId")`,
    ),
    changes: ['users'],
  },
  '0013-invited-plans': {
    ...sqlMigration('alter table invitations add column terms text'),
    changes: ['invitations'],
  },
};
