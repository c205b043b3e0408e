/*
 * The programs that may ask for access. One that registered itself is stored for an hour, and as long as its connections
 * once a user has connected it. The document of a program with an https address as id is fetched when the program asks
 * for access, and stored likewise, so that no other request fetches anything and every node knows it. The latest 10,000
 * are stored; those that end first are deleted first, so that programs without a user cannot displace connected ones.
 */

import type { Gateway } from 'mediagate';
import {
  type Database,
  type DatabaseClock,
  deleteBeyond,
  deleteExpired,
  isStorable,
  sql,
} from '../../core/database/index.js';
import { type ClientMetadata, type FetchedDocument, fetchDocument, isDocumentId } from './client-metadata.js';

const UNUSED_MS = 3_600_000;
const MAX = 10_000;

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Programs {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #fetching = new Map<string, Promise<FetchedDocument>>();

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
  }

  /** @param freshSeconds Of a document. Default: the program registered itself. */
  async save(id: string, metadata: ClientMetadata, freshSeconds?: number): Promise<void> {
    const table = { engine: this.#database.engine, table: 'oauth_clients', key: 'id' } as const;
    await this.#database.run(async (queries) => {
      const at = await this.#times.read(queries);
      await deleteExpired(queries, table, at);
      await deleteBeyond(queries, table, MAX);
      const freshUntil = freshSeconds === undefined ? null : at + freshSeconds * 1_000;
      const row = { metadata: JSON.stringify(metadata), freshUntil };
      const expiresAt = Math.max(at + UNUSED_MS, freshUntil ?? 0);
      const later = sql<number>`case when oauth_clients."expiresAt" > excluded."expiresAt" then oauth_clients."expiresAt" else excluded."expiresAt" end`;
      await queries
        .insertInto('oauth_clients')
        .values({ ...row, id, createdAt: at, expiresAt })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ ...row, expiresAt: later }))
        .execute();
    });
  }

  /** Undefined if it is not known, or no longer. */
  async find(id: string): Promise<ClientMetadata | undefined> {
    return (await this.#read(id))?.metadata;
  }

  /**
   * A program that asks for access; a document is fetched unless it is fresh.
   * @throws MetadataError in words for the person who wants to connect it.
   */
  async resolve(gateway: Pick<Gateway, 'httpClient'>, id: string): Promise<ClientMetadata | undefined> {
    const known = await this.#read(id);
    if (known?.isFresh || !isDocumentId(id)) return known?.metadata;
    const { metadata, freshSeconds } = await this.#fetchOnce(gateway, id);
    await this.save(id, metadata, freshSeconds);
    return metadata;
  }

  #fetchOnce(gateway: Pick<Gateway, 'httpClient'>, id: string): Promise<FetchedDocument> {
    const running = this.#fetching.get(id);
    if (running) return running;
    const started = fetchDocument(gateway, id).finally(() => this.#fetching.delete(id));
    this.#fetching.set(id, started);
    return started;
  }

  async #read(id: string): Promise<{ metadata: ClientMetadata; isFresh: boolean } | undefined> {
    if (!isStorable(id)) return undefined;
    const row = await this.#database.run((queries) =>
      queries
        .selectFrom('oauth_clients')
        .select(['metadata', 'freshUntil', this.#times.now.as('now')])
        .where('id', '=', id)
        .where('expiresAt', '>', this.#times.now)
        .executeTakeFirst(),
    );
    if (!row) return undefined;
    const metadata = JSON.parse(row.metadata) as ClientMetadata;
    return { metadata, isFresh: row.freshUntil === null || row.freshUntil > row.now };
  }
}
