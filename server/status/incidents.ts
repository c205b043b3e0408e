/*
 * Incidents that the operator reports, for the status page: outages, degraded service, and maintenance, which may lie in
 * the future. An incident is open until it is closed, and has updates meanwhile: what is known, and how far the work is.
 * Its texts are the operator's and are shown as they are. Each change is in the audit log. What was said first, and how
 * it ended, are columns of the incident; updates between them are rows of their own.
 */

import { randomBytes } from 'node:crypto';
import {
  type Database,
  isStorable,
  type Kysely,
  type Migrations,
  sql,
  sqlMigration,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError, systemClock } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import type { INCIDENT_KINDS, INCIDENT_STATES } from '../choices.js';

export type IncidentKind = (typeof INCIDENT_KINDS)[number];
export type IncidentState = (typeof INCIDENT_STATES)[number];

export interface IncidentUpdate {
  /** Milliseconds since 1970. */
  at: number;
  /** Null if it says nothing of it. */
  state: IncidentState | null;
  /** At most 2,000 characters. */
  text: string;
}

interface IncidentRow {
  /** `inc_` and 8 hex digits. */
  id: string;
  kind: IncidentKind;
  /** At most 200 characters. */
  title: string;
  /** At most 2,000 characters. Null without one. */
  message: string | null;
  /** How it ended, at most 2,000 characters. Null while it is open, or without one. */
  outcome: string | null;
  /** Milliseconds since 1970; of maintenance also in the future. */
  startedAt: number;
  /** Null while it is open. */
  endedAt: number | null;
}

export interface Incident extends IncidentRow {
  /** Those between its beginning and its end, newest first. */
  updates: readonly IncidentUpdate[];
}

interface IncidentUpdatesTable extends IncidentUpdate {
  /** 16 hex digits. */
  id: string;
  incidentId: string;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    incidents: IncidentRow;
    incident_updates: IncidentUpdatesTable;
  }
}

export const incidentMigrations: Migrations = {
  '0001-incidents': sqlMigration(
    `create table incidents (id text not null primary key, kind text not null, title text not null, message text,
    outcome text, "startedAt" bigint not null, "endedAt" bigint)`,
    `create index incidents_started on incidents ("startedAt")`,
  ),
  '0002-incident-updates': sqlMigration(
    `create table incident_updates (id text not null primary key, "incidentId" text not null, at bigint not null,
    state text, text text not null)`,
    `create index incident_updates_of on incident_updates ("incidentId", at)`,
  ),
};

export interface NewIncident {
  title: string;
  kind: IncidentKind;
  message: string | null;
  startedAt: number;
  /** Who reports it, for the audit log. */
  actor: string;
}

export interface IncidentPage {
  /** Milliseconds since 1970. */
  since: number;
  limit: number;
  /** Incidents that started before this place. Default: from the latest on. */
  after?: { at: number; id: string };
}

export const MAX_INCIDENT_TITLE = 200;
export const MAX_INCIDENT_TEXT = 2_000;
/** Of one incident: pages show all of them. */
const MAX_UPDATES = 50;

/** How far the work is; null for maintenance about which nothing was said. */
export function stateOfIncident({ kind, endedAt, updates }: Incident): IncidentState | null {
  if (endedAt !== null) return 'resolved';
  const latest = updates.find(({ state }) => state !== null);
  return latest?.state ?? (kind === 'maintenance' ? null : 'investigating');
}

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class Incidents {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @throws GatewayError `invalid_value` for an empty or long text. */
  async add({ actor, ...incident }: NewIncident): Promise<Incident> {
    const title = checkText(incident.title, 'title', MAX_INCIDENT_TITLE);
    const message = incident.message === null ? null : checkText(incident.message, 'message', MAX_INCIDENT_TEXT);
    const id = `inc_${randomBytes(4).toString('hex')}`;
    const row = { ...incident, id, title, message, outcome: null, endedAt: null };
    await this.#database.transaction(async (transaction) => {
      await transaction.insertInto('incidents').values(row).execute();
      const at = systemClock.now();
      await writeAudit(transaction, { subject: id, at, actor, action: 'incident.added', to: row.kind, note: title });
    });
    return { ...row, updates: [] };
  }

  /**
   * Adds an update to an open incident; one with the state `resolved` ends it, and is how it ended.
   * @param state Default: it stays as it is.
   * @returns Undefined if there is none with this id.
   * @throws GatewayError `invalid_value` for an empty or long text, for an incident that has ended, and for one with too
   *   many updates.
   */
  async update(
    id: string,
    { state, text, actor }: { state: IncidentState | null; text: string; actor: string },
  ): Promise<Incident | undefined> {
    const words = checkText(text, 'text', MAX_INCIDENT_TEXT);
    if (!isStorable(id)) return undefined;
    return this.#database.transaction(async (transaction) => {
      const found = await lockIncident(transaction, id);
      if (!found) return undefined;
      if (found.endedAt !== null) throw invalid('id', 'The incident has ended.');
      if (state === 'resolved') return endIncident(transaction, id, { outcome: words, actor });
      if (found.updates.length >= MAX_UPDATES) throw invalid('id', `An incident has at most ${MAX_UPDATES} updates.`);
      const update = { at: systemClock.now(), state, text: words };
      const row = { ...update, id: randomBytes(8).toString('hex'), incidentId: id };
      await transaction.insertInto('incident_updates').values(row).execute();
      await writeAudit(transaction, {
        subject: id,
        at: update.at,
        actor,
        action: 'incident.updated',
        to: state,
        note: words,
      });
      return { ...found, updates: [update, ...found.updates] };
    });
  }

  /** @returns Undefined if there is none with this id. @throws GatewayError `invalid_value` for an empty or long title. */
  async rename(id: string, { title, actor }: { title: string; actor: string }): Promise<Incident | undefined> {
    const to = checkText(title, 'title', MAX_INCIDENT_TITLE);
    if (!isStorable(id)) return undefined;
    return this.#database.transaction(async (transaction) => {
      const found = await lockIncident(transaction, id);
      if (!found || found.title === to) return found;
      await transaction.updateTable('incidents').set({ title: to }).where('id', '=', id).execute();
      const change = { action: 'incident.renamed', from: found.title, to } as const;
      await writeAudit(transaction, { subject: id, at: systemClock.now(), actor, ...change });
      return { ...found, title: to };
    });
  }

  /**
   * Ends an open incident.
   * @returns Undefined if there is none with this id; an incident that was closed before stays as it is.
   * @throws GatewayError `invalid_value` for a long outcome.
   */
  close(id: string, { outcome, actor }: { outcome: string | null; actor: string }): Promise<Incident | undefined> {
    const text = outcome === null ? null : checkText(outcome, 'outcome', MAX_INCIDENT_TEXT);
    if (!isStorable(id)) return Promise.resolve(undefined);
    return this.#database.transaction((transaction) => endIncident(transaction, id, { outcome: text, actor }));
  }

  /** Open ones and those that ended later than that, the latest start first; at most `limit`. */
  list({ since, limit, after }: IncidentPage): Promise<readonly Incident[]> {
    return this.#database.run(async (queries) => {
      const rows = await queries
        .selectFrom('incidents')
        .selectAll()
        .$if(after !== undefined, (some) => some.where(sql<boolean>`("startedAt", id) < (${after?.at}, ${after?.id})`))
        .where((where) => where.or([where('endedAt', 'is', null), where('endedAt', '>=', since)]))
        .orderBy('startedAt', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute();
      return withUpdates(queries, rows);
    });
  }

  /** Titles of those among the ids that are there. */
  async titlesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.run((queries) =>
      queries.selectFrom('incidents').select(['id', 'title']).where('id', 'in', ids).execute(),
    );
    return new Map(rows.map(({ id, title }) => [id, title]));
  }
}

async function withUpdates(queries: Kysely<Tables>, rows: readonly IncidentRow[]): Promise<readonly Incident[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const posted = await queries
    .selectFrom('incident_updates')
    .select(['incidentId', 'at', 'state', 'text'])
    .where('incidentId', 'in', ids)
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  const updates = Map.groupBy(posted, ({ incidentId }) => incidentId);
  return rows.map((row) => ({
    ...row,
    updates: (updates.get(row.id) ?? []).map(({ at, state, text }) => ({ at, state, text })),
  }));
}

/** Others that change the incident wait: its row is written as it is, which locks it in both databases. */
async function lockIncident(transaction: Transaction<Tables>, id: string): Promise<Incident | undefined> {
  const same = { title: sql<string>`title` };
  const rows = await transaction.updateTable('incidents').set(same).where('id', '=', id).returningAll().execute();
  return (await withUpdates(transaction, rows))[0];
}

async function endIncident(
  transaction: Transaction<Tables>,
  id: string,
  { outcome, actor }: { outcome: string | null; actor: string },
): Promise<Incident | undefined> {
  const found = await lockIncident(transaction, id);
  if (!found || found.endedAt !== null) return found;
  const endedAt = systemClock.now();
  await transaction.updateTable('incidents').set({ endedAt, outcome }).where('id', '=', id).execute();
  await writeAudit(transaction, { subject: id, at: endedAt, actor, action: 'incident.closed', note: outcome });
  return { ...found, endedAt, outcome };
}

function checkText(text: string, param: string, max: number): string {
  const trimmed = text.trim();
  if (trimmed !== '' && trimmed.length <= max && !trimmed.includes('\0')) return trimmed;
  throw invalid(param, `${param} must be a text of 1 to ${max} characters.`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param });
}
