/*
 * Connections of accounts to agents: one for each time that a user allowed a program to use `/mcp`. A connection has a
 * key without a secret, limited to the grants that the user allowed, so that its calls have the rate limits, budgets,
 * usage and jobs of a key of the account, and never more than the plan gives at the time. It lasts 90 days. An account
 * has at most 20: a new one ends the one that was used least recently. Ending a connection revokes its key, which
 * cancels its jobs and refuses its tokens on every node within 2 s, and deletes its tokens.
 */

import { randomBytes } from 'node:crypto';
import {
  type Database,
  type DatabaseClock,
  type Kysely,
  type Selectable,
  storable,
  type Tables,
} from '../../core/database/index.js';
import { type ApiKeyRow, type ApiKeys, decodeOwn, type Grant } from '../keys/index.js';
import type { PlanTerms } from '../plans/index.js';
import { hashArtifact } from './artifacts.js';
import type { OauthConnectionsTable } from './tables.js';

/** Lifetime of a connection: then its user is asked again. */
export const CONNECTION_SECONDS = 90 * 24 * 3_600;
const MAX_CONNECTIONS = 20;
const MAX_TEXT = 200;

/** A program, as the user sees it. */
export interface AgentProgram {
  clientId: string;
  /** As the program says. */
  name: string;
  /** Host that vouches for the program. Null: the program registered itself. */
  host: string | null;
  /** Where its codes are sent: a host, or the scheme of an app. */
  redirectHost: string;
}

export interface NewConnection {
  userId: string;
  accountId: string;
  /** Secret id of the grant. */
  grantId: string;
  program: AgentProgram;
  /** What the user allows; the plan limits it. */
  grants: readonly Grant[];
  /** What the account gets if it has no plan. */
  otherwise: PlanTerms;
}

export interface ConnectionRecord extends AgentProgram {
  id: string;
  accountId: string;
  keyId: string;
  /** What the user allowed; the plan of the moment may have less. */
  grants: readonly Grant[];
  createdAt: number;
  expiresAt: number;
  lastUsedAt: number | null;
}

export interface ConnectionsOptions {
  database: Database;
  times: DatabaseClock;
  keys: Pick<ApiKeys<PlanTerms>, 'issueForAgent' | 'revoke'>;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #database: Database;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#database = options.database;
  }

  /** @returns The id of its key. @throws GatewayError `account_not_found`, `account_suspended`. */
  async create({ userId, accountId, grantId, program, grants, otherwise }: NewConnection): Promise<string> {
    const { keys, times } = this.#options;
    const name = storable(program.name, MAX_TEXT) || program.redirectHost;
    const issue = { accountId, otherwise, name, grants, actor: `user:${userId}` };
    const made = await keys.issueForAgent(issue, async (transaction, key) => {
      const at = await times.read(transaction);
      const row: OauthConnectionsTable = {
        id: `conn_${randomBytes(8).toString('hex')}`,
        grantHash: hashArtifact('Grant', grantId),
        userId,
        accountId,
        keyId: key.id,
        clientId: program.clientId,
        clientName: name,
        clientHost: program.host,
        redirectHost: storable(program.redirectHost, MAX_TEXT),
        createdAt: at,
        expiresAt: at + CONNECTION_SECONDS * 1_000,
      };
      await transaction.insertInto('oauth_connections').values(row).execute();
      // A program that registered itself is known as long as its connections.
      await transaction
        .updateTable('oauth_clients')
        .set({ expiresAt: row.expiresAt })
        .where('id', '=', program.clientId)
        .execute();
    });
    for (const extra of await this.#extra(userId)) await this.#end(extra, 'gateway');
    return made.id;
  }

  /** Those of a user whose program can call the endpoint, newest first. A program may never have fetched its tokens. */
  list(userId: string): Promise<readonly ConnectionRecord[]> {
    return this.#database.run(async (queries) => {
      const at = await this.#options.times.read(queries);
      const rows = await selectConnections(queries)
        .where('oauth_connections.userId', '=', userId)
        .where('oauth_connections.expiresAt', '>', at)
        .where('api_keys.revokedAt', 'is', null)
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom('oauth_tokens')
              .select('hash')
              .whereRef('oauth_tokens.grantHash', '=', 'oauth_connections.grantHash')
              .where('model', '!=', 'Grant')
              .where('consumedAt', 'is', null)
              .where('oauth_tokens.expiresAt', '>', at),
          ),
        )
        .orderBy('oauth_connections.createdAt', 'desc')
        .orderBy('oauth_connections.id')
        .execute();
      return rows.map(toRecord);
    });
  }

  /** Ends a connection of the user and cancels its jobs. False if there is none. */
  async end(id: string, userId: string): Promise<boolean> {
    const [row] = await this.#database.run((queries) =>
      selectConnections(queries)
        .where('oauth_connections.id', '=', id.slice(0, MAX_TEXT))
        .where('oauth_connections.userId', '=', userId)
        .execute(),
    );
    if (row) await this.#end(toRecord(row), `user:${userId}`);
    return row !== undefined;
  }

  /** Ends the connection of a grant: its program has given it up, or a code or token was used twice. */
  async endGrant(grantId: string): Promise<void> {
    const grantHash = hashArtifact('Grant', grantId);
    const [row] = await this.#database.run((queries) =>
      selectConnections(queries).where('oauth_connections.grantHash', '=', grantHash).execute(),
    );
    if (row) await this.#end(toRecord(row), 'gateway');
    else await this.#deleteTokens(grantHash);
  }

  /** Those beyond the maximum, and those that have expired. */
  #extra(userId: string): Promise<readonly StoredConnection[]> {
    return this.#database.run(async (queries) => {
      const at = await this.#options.times.read(queries);
      const rows = await selectConnections(queries).where('oauth_connections.userId', '=', userId).execute();
      const records = rows.map(toRecord);
      const valid = records.filter(({ expiresAt }) => expiresAt > at);
      const latest = valid.toSorted((left, right) => usedAt(right) - usedAt(left)).slice(0, MAX_CONNECTIONS);
      return records.filter((record) => !latest.includes(record));
    });
  }

  async #end({ keyId, accountId, grantHash }: StoredConnection, actor: string): Promise<void> {
    const { keys, times } = this.#options;
    const at = await this.#database.run((queries) => times.read(queries));
    // First, since a revoked key refuses tokens that are being made at this moment.
    await keys.revoke(keyId, at, accountId, false, actor);
    await this.#deleteTokens(grantHash);
  }

  async #deleteTokens(grantHash: string): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await transaction.deleteFrom('oauth_tokens').where('grantHash', '=', grantHash).execute();
      await transaction.deleteFrom('oauth_connections').where('grantHash', '=', grantHash).execute();
    });
  }
}

interface StoredConnection extends ConnectionRecord {
  grantHash: string;
}

/** A new connection was used when it was made. */
function usedAt({ lastUsedAt, createdAt }: ConnectionRecord): number {
  return lastUsedAt ?? createdAt;
}

function selectConnections(queries: Kysely<Tables>) {
  return queries
    .selectFrom('oauth_connections')
    .innerJoin('api_keys', 'api_keys.id', 'oauth_connections.keyId')
    .selectAll('oauth_connections')
    .select(['api_keys.lastUsedAt', 'api_keys.grants', 'api_keys.ownLimits']);
}

function toRecord(
  row: Selectable<OauthConnectionsTable> & Pick<ApiKeyRow, 'lastUsedAt' | 'grants' | 'ownLimits'>,
): StoredConnection {
  const { userId: _userId, clientName: name, clientHost: host, grants: ofPlan, ownLimits, ...rest } = row;
  const own = decodeOwn({ ownLimits, accountId: row.accountId, expiresAt: null });
  return { ...rest, name, host, grants: (own?.grants ?? JSON.parse(ofPlan)) as readonly Grant[] };
}
