import type { GatewayError } from '../runtime/index.js';
import type { Database, TransactionOptions } from './database.js';
import { createGroupCommit, type GroupCommit } from './group-commit.js';
import type { Script } from './script.js';

/** An answer costs far less than a commit. */
const MAX_GROUP = 1_000;
/** PostgreSQL commits side by side; SQLite has one writer. */
const POSTGRES_LANES = 4;

export interface Lanes<Item, Answer> {
  /** As of a group commit; items of one API key are always in the same one, so that lanes do not wait for each other's locks. */
  submit(keyId: string, item: Item): Promise<Answer>;
}

export interface LanesOptions<Item, Answer> {
  database: Database;
  survives?: TransactionOptions['survives'];
  /** As of a group commit. */
  script(items: readonly Item[]): Script<readonly (Answer | GatewayError)[]>;
}

/** Several group commits side by side where the engine has a use for that. */
export function createLanes<Item, Answer>(options: LanesOptions<Item, Answer>): Lanes<Item, Answer> {
  const lanes = Array.from({ length: options.database.engine === 'postgres' ? POSTGRES_LANES : 1 }, () =>
    createGroupCommit({ ...options, most: MAX_GROUP }),
  );

  function laneOf(keyId: string): GroupCommit<Item, Answer> {
    let sum = 0;
    for (let index = 0; index < keyId.length; index += 1) sum = (sum * 31 + keyId.charCodeAt(index)) >>> 0;
    return lanes[sum % lanes.length] as GroupCommit<Item, Answer>;
  }

  return { submit: (keyId, item) => laneOf(keyId).submit(item) };
}
