/*
 * Incidents that the operator reports, for the status page: outages, degraded service, and maintenance, which may lie in
 * the future. An incident is open until it is closed. Its texts are the operator's and are shown as they are. Both
 * changes are in the audit log.
 */

import { randomBytes } from 'node:crypto';
import { type Database, type Migrations, sql, sqlMigration } from '../../core/database/index.js';
import { GatewayError, systemClock } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';

export const INCIDENT_KINDS = ['outage', 'degraded', 'maintenance'] as const;
export type IncidentKind = (typeof INCIDENT_KINDS)[number];

export interface Incident {
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

declare module '../../core/database/tables.js' {
  interface Tables {
    incidents: Incident;
  }
}

export const incidentMigrations: Migrations = {
  '0001-incidents': sqlMigration(
    `create table incidents (id text not null primary key, kind text not null, title text not null, message text,
    outcome text, "startedAt" bigint not null, "endedAt" bigint)`,
    `create index incidents_started on incidents ("startedAt")`,
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

const MAX_TITLE = 200;
const MAX_MESSAGE = 2_000;

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class Incidents {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @throws GatewayError `invalid_value` for an empty or long text. */
  async add({ actor, ...incident }: NewIncident): Promise<Incident> {
    const title = checkText(incident.title, 'title', MAX_TITLE);
    const message = incident.message === null ? null : checkText(incident.message, 'message', MAX_MESSAGE);
    const id = `inc_${randomBytes(4).toString('hex')}`;
    const row = { ...incident, id, title, message, outcome: null, endedAt: null };
    await this.#database.transaction(async (transaction) => {
      await transaction.insertInto('incidents').values(row).execute();
      const at = systemClock.now();
      await writeAudit(transaction, { subject: id, at, actor, action: 'incident.added', to: row.kind, note: title });
    });
    return row;
  }

  /**
   * Ends an open incident.
   * @returns Undefined if there is none with this id; an incident that was closed before stays as it is.
   * @throws GatewayError `invalid_value` for a long outcome.
   */
  close(id: string, { outcome, actor }: { outcome: string | null; actor: string }): Promise<Incident | undefined> {
    const text = outcome === null ? null : checkText(outcome, 'outcome', MAX_MESSAGE);
    return this.#database.transaction(async (transaction) => {
      const at = systemClock.now();
      const closed = await transaction
        .updateTable('incidents')
        .set({ endedAt: at, outcome: text })
        .where('id', '=', id)
        .where('endedAt', 'is', null)
        .returningAll()
        .executeTakeFirst();
      if (closed) {
        await writeAudit(transaction, { subject: id, at, actor, action: 'incident.closed', note: text });
        return closed;
      }
      return transaction.selectFrom('incidents').selectAll().where('id', '=', id).executeTakeFirst();
    });
  }

  /** Open ones and those that ended later than that, the latest start first; at most `limit`. */
  list({ since, limit, after }: IncidentPage): Promise<readonly Incident[]> {
    return this.#database.run((queries) =>
      queries
        .selectFrom('incidents')
        .selectAll()
        .$if(after !== undefined, (some) => some.where(sql<boolean>`("startedAt", id) < (${after?.at}, ${after?.id})`))
        .where((where) => where.or([where('endedAt', 'is', null), where('endedAt', '>=', since)]))
        .orderBy('startedAt', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute(),
    );
  }
}

function checkText(text: string, param: string, max: number): string {
  const trimmed = text.trim();
  if (trimmed !== '' && trimmed.length <= max && !trimmed.includes('\0')) return trimmed;
  throw new GatewayError('invalid_value', `${param} must be a text of 1 to ${max} characters.`, { param });
}
