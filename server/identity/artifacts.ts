/*
 * What the authorization server stores in SQL: open requests for access and, per connection, its grant, codes and
 * tokens. Each is found by the SHA-256 of its secret, and no payload has a secret. A code and a refresh token are
 * consumed by one statement, so that of two clients that present the same one, on any nodes, one alone gets tokens, and
 * the second use ends the connection. A consumed token is known for one more day. Expired rows are deleted with each
 * write, some at a time; of open requests the latest 20,000 are stored.
 */

import {
  type Database,
  type DatabaseClock,
  deleteBeyond,
  deleteExpired,
  isStorable,
} from '../../core/database/index.js';
import { hashToken } from '../keys/index.js';

const MAX_REQUESTS = 20_000;
/** How long a second use of a consumed code or refresh token is noticed. */
const CONSUMED_MS = 24 * 3_600_000;

/** Models of the library that are stored. It also has sessions, which those of the site replace. */
export type ArtifactModel = 'Interaction' | 'Grant' | 'AuthorizationCode' | 'AccessToken' | 'RefreshToken';

export type Payload = Record<string, unknown>;

/** The hash under which something with a secret is stored. */
export function hashArtifact(model: ArtifactModel, secret: string): string {
  return hashToken(`${model}:${secret}`);
}

/** A valid access token. */
export interface AccessTokenRecord {
  /** Key of its connection. */
  keyId: string;
  /** The address that it is for. */
  audience: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Artifacts {
  readonly #database: Database;
  readonly #times: DatabaseClock;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
  }

  /** Writes or replaces. @param seconds Lifetime. */
  async save(model: ArtifactModel, secret: string, payload: Payload, seconds: number): Promise<void> {
    const table = tableOf(model);
    const { engine } = this.#database;
    const { grantId, userId } = subjectOf(payload);
    await this.#database.run(async (queries) => {
      const at = await this.#times.read(queries);
      await deleteExpired(queries, { engine, table, key: 'hash' }, at);
      if (table === 'oauth_requests') await deleteBeyond(queries, { engine, table, key: 'hash' }, MAX_REQUESTS);
      const row = {
        model,
        grantHash: grantId === undefined ? null : hashArtifact('Grant', grantId),
        userId,
        payload: JSON.stringify(withoutSecrets(payload)),
        expiresAt: at + seconds * 1_000,
      };
      await queries
        .insertInto(table)
        .values({ ...row, hash: hashArtifact(model, secret), consumedAt: null })
        .onConflict((conflict) => conflict.column('hash').doUpdateSet(row))
        .execute();
    });
  }

  /** Undefined if there is none, or it has expired. */
  async find(model: ArtifactModel, secret: string): Promise<{ payload: Payload; isConsumed: boolean } | undefined> {
    if (!isStorable(secret)) return undefined;
    const row = await this.#database.run((queries) =>
      queries
        .selectFrom(tableOf(model))
        .select(['payload', 'consumedAt'])
        .where('hash', '=', hashArtifact(model, secret))
        .where('expiresAt', '>', this.#times.now)
        .executeTakeFirst(),
    );
    return row && { payload: JSON.parse(row.payload) as Payload, isConsumed: row.consumedAt !== null };
  }

  /** False if it was consumed before, or there is none. */
  async consume(model: ArtifactModel, secret: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.run(async (queries) => {
      const at = await this.#times.read(queries);
      return queries
        .updateTable(tableOf(model))
        .set({ consumedAt: at, expiresAt: at + CONSUMED_MS })
        .where('hash', '=', hashArtifact(model, secret))
        .where('consumedAt', 'is', null)
        .executeTakeFirstOrThrow();
    });
    return numUpdatedRows > 0n;
  }

  async delete(model: ArtifactModel, secret: string): Promise<void> {
    await this.#database.run((queries) =>
      queries.deleteFrom(tableOf(model)).where('hash', '=', hashArtifact(model, secret)).execute(),
    );
  }

  /** An access token with the key of its connection. Undefined if it is not valid. */
  async findAccessToken(token: string): Promise<AccessTokenRecord | undefined> {
    const row = await this.#database.run((queries) =>
      queries
        .selectFrom('oauth_tokens')
        .innerJoin('oauth_connections', 'oauth_connections.grantHash', 'oauth_tokens.grantHash')
        .select(['oauth_connections.keyId', 'oauth_tokens.payload', 'oauth_tokens.expiresAt'])
        .where('oauth_tokens.hash', '=', hashArtifact('AccessToken', token))
        .where('oauth_tokens.expiresAt', '>', this.#times.now)
        .executeTakeFirst(),
    );
    if (!row) return undefined;
    const { aud } = JSON.parse(row.payload) as { aud?: string };
    return { keyId: row.keyId, audience: aud ?? '', expiresAt: row.expiresAt };
  }
}

function tableOf(model: ArtifactModel): 'oauth_requests' | 'oauth_tokens' {
  return model === 'Interaction' ? 'oauth_requests' : 'oauth_tokens';
}

interface PayloadParts {
  jti?: string;
  kind?: string;
  grantId?: string;
  accountId?: string;
  result?: { login?: { accountId?: string } };
}

function subjectOf(payload: PayloadParts): { grantId: string | undefined; userId: string | null } {
  const { kind, jti, grantId, accountId, result } = payload;
  return { grantId: kind === 'Grant' ? jti : grantId, userId: accountId ?? result?.login?.accountId ?? null };
}

/** The secret is known again when something is found by it. */
function withoutSecrets({ jti: _jti, returnTo: _returnTo, ...rest }: Payload): Payload {
  return rest;
}
