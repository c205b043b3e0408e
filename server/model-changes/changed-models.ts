/*
 * What operators change of models while the gateway runs: a model is switched off, its upstreams get other weights, it
 * gets other prices, or it is at a server that the plugins file does not have. Each change replaces what was there, in one
 * transaction with its row in the audit log, which has the old and the new value, but never a key. A row stays when all
 * of it is as configured again, so that its audit rows keep one order. The key of a server is sealed before it comes here.
 */

import type { ModelPrices } from '../../core/contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  type Kysely,
  type Migrations,
  sqlMigration,
  storable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { type AuditAction, writeAudit } from '../audit/index.js';

export interface ChangedModelsTable {
  /** Id of the model. */
  model: string;
  /** 1 if it is switched off. */
  isClosed: number;
  /** JSON: weights of its upstreams, by name. Null: as configured. */
  weights: string | null;
  /** JSON. Null: as configured. */
  prices: string | null;
  /** JSON: where a model is that no file has. Null: it is in the plugins file. */
  added: string | null;
  /** Key of that server. Null: it needs none. */
  sealedKey: string | null;
  /** Milliseconds since 1970. */
  changedAt: number;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    changed_models: ChangedModelsTable;
  }
}

export const modelChangeMigrations: Migrations = {
  '0011-changed-models': sqlMigration(
    `create table changed_models (model text not null primary key, "isClosed" integer not null, weights text,
    prices text, added text, "sealedKey" text, "changedAt" bigint not null)`,
  ),
};

/** Formats of servers that can be added. */
export const SERVER_FORMATS = ['openai', 'anthropic'] as const;

/** Where an added model is. */
export interface AddedServer {
  format: (typeof SERVER_FORMATS)[number];
  /** Base address. */
  url: string;
  /** Name of the model there. Default: its id. */
  model?: string;
  contextLength?: number;
}

/** What is changed of a model. */
export interface ChangedModel {
  model: string;
  isClosed: boolean;
  /** Default: as configured. */
  weights?: Readonly<Record<string, number>>;
  /** Default: as configured. */
  prices?: ModelPrices;
  /** Default: the model is in the plugins file. */
  added?: AddedServer;
  sealedKey?: string;
}

/** What differs from the configuration. */
export const MODEL_CHANGES = ['switched_off', 'weights', 'prices', 'added'] as const;

export function changesOf({ isClosed, weights, prices, added }: ChangedModel): (typeof MODEL_CHANGES)[number][] {
  const made = { switched_off: isClosed, weights, prices, added };
  return MODEL_CHANGES.filter((name) => made[name]);
}

/** One change. Null: as configured; of `added`: the model is removed. */
export type ModelChange =
  | { isClosed: boolean }
  | { weights: ChangedModel['weights'] | null }
  | { prices: ModelPrices | null }
  | { added: AddedServer | null; sealedKey: string | null };

export interface ChangedBy {
  actor: string;
  note?: string | undefined;
}

/** Maximum characters of a state in the audit log. */
const MAX_STATE = 500;

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class ChangedModels {
  readonly #database: Database;
  readonly #times: DatabaseClock;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
  }

  /** Makes changes of one model, together. Those that change nothing leave no row in the audit log. */
  change(model: string, changes: readonly ModelChange[], by: ChangedBy): Promise<void> {
    return this.#database.transaction(async (transaction) => {
      const at = await this.#times.read(transaction);
      let row = await this.#lock(transaction, model, at);
      for (const change of changes) {
        const next = { ...row, ...toColumns(change) };
        const line = auditOf(change, row, next);
        row = next;
        if (line) await writeAudit(transaction, { subject: model, at, ...by, note: by.note ?? null, ...line });
      }
      const { model: _model, ...columns } = row;
      await transaction
        .updateTable('changed_models')
        .set({ ...columns, changedAt: at })
        .where('model', '=', model)
        .execute();
    });
  }

  async #lock(transaction: Transaction<Tables>, model: string, changedAt: number): Promise<ChangedModelsTable> {
    const none = { isClosed: 0, weights: null, prices: null, added: null, sealedKey: null };
    const insert = transaction.insertInto('changed_models').values({ model, ...none, changedAt });
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
    const row = transaction.selectFrom('changed_models').selectAll().where('model', '=', model);
    return (this.#database.engine === 'postgres' ? row.forUpdate() : row).executeTakeFirstOrThrow();
  }

  /** Everything that differs from the configuration, by model. */
  async list(): Promise<readonly ChangedModel[]> {
    return this.#database.run(readChangedModels);
  }
}

/** Everything that differs from the configuration. */
export async function readChangedModels(queries: Kysely<Tables>): Promise<readonly ChangedModel[]> {
  return (await queries.selectFrom('changed_models').selectAll().orderBy('model').execute()).map(toChangedModel);
}

function toChangedModel({ model, isClosed, weights, prices, added, sealedKey }: ChangedModelsTable): ChangedModel {
  return {
    model,
    isClosed: isClosed === 1,
    ...(weights !== null && { weights: JSON.parse(weights) }),
    ...(prices !== null && { prices: JSON.parse(prices) }),
    ...(added !== null && { added: JSON.parse(added) }),
    ...(sealedKey !== null && { sealedKey }),
  };
}

const textOf = (value: object | null | undefined) => (value ? JSON.stringify(value) : null);

function toColumns(change: ModelChange): Partial<ChangedModelsTable> {
  if ('isClosed' in change) return { isClosed: change.isClosed ? 1 : 0 };
  if ('weights' in change) return { weights: textOf(change.weights) };
  if ('prices' in change) return { prices: textOf(change.prices) };
  // What was said of the added one is not true of another model that may get its name.
  const gone = change.added === null && { isClosed: 0, weights: null, prices: null };
  return { added: textOf(change.added), sealedKey: change.sealedKey, ...gone };
}

const AS_CONFIGURED = 'as configured';

function auditOf(
  change: ModelChange,
  before: ChangedModelsTable,
  after: ChangedModelsTable,
): { action: AuditAction; from: string | null; to: string | null } | undefined {
  if ('isClosed' in change) {
    if (before.isClosed === after.isClosed) return undefined;
    return { action: change.isClosed ? 'model.closed' : 'model.opened', from: null, to: null };
  }
  if ('added' in change) {
    const action = change.added === null ? 'model.removed' : 'model.added';
    return { action, from: stateOf(before.added, null), to: stateOf(after.added, null) };
  }
  const field = 'weights' in change ? 'weights' : 'prices';
  if (before[field] === after[field]) return undefined;
  const action = field === 'weights' ? 'model.weighed' : 'model.priced';
  return { action, from: stateOf(before[field]), to: stateOf(after[field]) };
}

/** JSON without its signs: `input 1.25, output 10`. */
function stateOf(json: string | null, none: string | null = AS_CONFIGURED): string | null {
  if (json === null) return none;
  const parts = Object.entries(JSON.parse(json) as Record<string, unknown>).map(([name, value]) =>
    typeof value === 'object' ? `${name} ${JSON.stringify(value)}` : `${name} ${value}`,
  );
  return storable(parts.join(', '), MAX_STATE);
}
