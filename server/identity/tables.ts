/*
 * The tables of sign-in for agents and applications: open requests for access, tokens, registered programs, and connections of accounts
 * to programs. Codes, tokens and ids of open requests are stored as SHA-256 hashes alone. A connection has a key
 * without a secret, whose limits and usage are those of the account.
 */

import { type Migrations, sqlMigration } from '../../core/database/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    oauth_requests: OauthArtifactsTable;
    oauth_tokens: OauthArtifactsTable;
    oauth_clients: OauthClientsTable;
    oauth_connections: OauthConnectionsTable;
  }
}

/** Times are milliseconds since 1970. */
export interface OauthArtifactsTable {
  /** SHA-256 of model and secret, in lower-case hex. */
  hash: string;
  /** `Interaction`; `Grant`, `AuthorizationCode`, `AccessToken` or `RefreshToken`. */
  model: string;
  /** Hash of the grant that it belongs to. */
  grantHash: string | null;
  userId: string | null;
  /** JSON of the library, without any secret. */
  payload: string;
  consumedAt: number | null;
  expiresAt: number;
}

export interface OauthClientsTable {
  id: string;
  /** JSON in the form of RFC 7591. */
  metadata: string;
  /** Of a document: until then it is not fetched again. Null: the program registered itself. */
  freshUntil: number | null;
  createdAt: number;
  expiresAt: number;
}

export interface OauthConnectionsTable {
  /** `conn_` and 64 random bits. */
  id: string;
  /** Hash of its grant. */
  grantHash: string;
  userId: string;
  accountId: string;
  keyId: string;
  clientId: string;
  /** As the program says. */
  clientName: string;
  /** Host that vouches for the program. Null: the program registered itself. */
  clientHost: string | null;
  /** Where its codes are sent: a host, or the scheme of an app. */
  redirectHost: string;
  createdAt: number;
  expiresAt: number;
}

const artifacts = (name: string) => [
  `create table ${name} (
  hash text primary key, model text not null, "grantHash" text, "userId" text, payload text not null, "consumedAt" bigint,
  "expiresAt" bigint not null)`,
  `create index ${name}_expires_at on ${name} ("expiresAt")`,
  `create index ${name}_grant on ${name} ("grantHash")`,
  `create index ${name}_user on ${name} ("userId")`,
];

/** The tables of sign-in for agents. */
export const identityMigrations: Migrations = {
  '0006-agent-sign-in': {
    ...sqlMigration(
      ...artifacts('oauth_requests'),
      ...artifacts('oauth_tokens'),
      `create table oauth_clients (
      id text primary key, metadata text not null, "freshUntil" bigint, "createdAt" bigint not null, "expiresAt" bigint not null)`,
      `create index oauth_clients_expires_at on oauth_clients ("expiresAt")`,
      `create table oauth_connections (
      id text primary key, "grantHash" text not null unique, "userId" text not null references users (id) on delete cascade,
      "accountId" text not null, "keyId" text not null, "clientId" text not null, "clientName" text not null,
      "clientHost" text, "redirectHost" text not null, "createdAt" bigint not null, "expiresAt" bigint not null)`,
      `create index oauth_connections_user on oauth_connections ("userId", "createdAt")`,
      `create index oauth_connections_account on oauth_connections ("accountId")`,
      `create index oauth_connections_expires_at on oauth_connections ("expiresAt")`,
    ),
    changes: ['users'],
  },
  '0015-application-sign-ins': {
    ...sqlMigration(
      `create table application_sign_ins (
      application text not null, "userId" text not null references users (id) on delete cascade, "signedInAt" bigint not null,
      primary key (application, "userId"))`,
      `create index application_sign_ins_latest on application_sign_ins (application, "signedInAt", "userId")`,
      `create index application_sign_ins_user on application_sign_ins ("userId")`,
    ),
    changes: ['users'],
  },
};
