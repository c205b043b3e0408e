/*
 * Items that the operator has taken down (`mediagate links block`): by the canonical URL of the item, for all keys.
 * A blocked item is not read, and its media and MP3 links stop. Every node has the list in memory, because each request
 * of a link asks for it, and reads it again every 2 seconds. Both changes are in the audit log.
 */

import type { Database, Migrations } from '../../core/database/index.js';
import { sqlMigration } from '../../core/database/index.js';
import {
  createThrottledWarning,
  type Logger,
  type PollLoop,
  startPollLoop,
  systemClock,
} from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';

const REFRESH_MS = 2_000;

export interface BlockedLinksTable {
  /** Canonical URL of the item. */
  url: string;
  /** Milliseconds since 1970. */
  blockedAt: number;
  note: string | null;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    blocked_links: BlockedLinksTable;
  }
}

export const linkMigrations: Migrations = {
  '0001-blocked-links': sqlMigration(
    `create table blocked_links (url text not null primary key, "blockedAt" bigint not null, note text)`,
  ),
};

/** Who changes the list, and why. */
export interface BlockedBy {
  actor: string;
  note?: string | undefined;
}

/** The list in SQL. Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class BlockedLinks {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @returns False if it was blocked before. */
  block(url: string, { actor, note = undefined }: BlockedBy): Promise<boolean> {
    const row = { url, blockedAt: systemClock.now(), note: note ?? null };
    return this.#database.transaction(async (transaction) => {
      const insert = transaction.insertInto('blocked_links').values(row);
      const added = await insert
        .onConflict((conflict) => conflict.doNothing())
        .returning('url')
        .executeTakeFirst();
      if (!added) return false;
      await writeAudit(transaction, { subject: url, at: row.blockedAt, actor, action: 'link.blocked', note: row.note });
      return true;
    });
  }

  /** @returns False if it was not blocked. */
  unblock(url: string, { actor, note = undefined }: BlockedBy): Promise<boolean> {
    return this.#database.transaction(async (transaction) => {
      const removed = transaction.deleteFrom('blocked_links').where('url', '=', url).returning('url');
      if (!(await removed.executeTakeFirst())) return false;
      const at = systemClock.now();
      await writeAudit(transaction, { subject: url, at, actor, action: 'link.unblocked', note: note ?? null });
      return true;
    });
  }

  /** Latest first. */
  list(): Promise<readonly BlockedLinksTable[]> {
    return this.#database.run((queries) =>
      queries.selectFrom('blocked_links').selectAll().orderBy('blockedAt', 'desc').orderBy('url').execute(),
    );
  }
}

/** The list of one node. */
export class BlockList {
  readonly #links: BlockedLinks;
  readonly #polling: PollLoop;
  #urls: ReadonlySet<string> = new Set();

  private constructor(links: BlockedLinks, logger: Logger) {
    this.#links = links;
    const report = createThrottledWarning(logger, 'the list of blocked links cannot be read; the last one stays');
    this.#polling = startPollLoop({ intervalMs: REFRESH_MS, work: () => this.#refresh(), report });
  }

  /** Resolves when the list was read, or could not be. */
  static async open(links: BlockedLinks, logger: Logger): Promise<BlockList> {
    const list = new BlockList(links, logger);
    await list.#polling.first;
    return list;
  }

  /** @param url Canonical URL of an item. */
  has(url: string): boolean {
    return this.#urls.has(url);
  }

  close(): Promise<void> {
    return this.#polling.stop();
  }

  async #refresh(): Promise<void> {
    this.#urls = new Set((await this.#links.list()).map(({ url }) => url));
  }
}
