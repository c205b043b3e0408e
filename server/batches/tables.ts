/*
 * The table of the links of batches. It is deleted with the row of its job.
 */

import { type Migrations, sqlMigration } from '../../core/database/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    batch_links: BatchLinksTable;
  }
}

export interface BatchLinksTable {
  jobId: string;
  /** Position in the batch, from 0. */
  position: number;
  state: 'started' | 'completed' | 'failed';
  /** Runs that have begun. */
  attempts: number;
  /** Platform key; empty for a link of no platform. */
  platform: string;
  /** When the latest run began. */
  startedAt: number;
  endedAt: number | null;
  /** JSON: what budgets of money hold for it. Null without one. */
  held: string | null;
  /** JSON, since a link may contain any character. */
  url: string;
  /** Compressed; see batch-links.ts. */
  result: string | null;
  /** JSON. */
  error: string | null;
}

export const batchMigrations: Migrations = {
  '0001-link-batches': {
    ...sqlMigration(
      `create table batch_links (
      "jobId" text not null references jobs (id) on delete cascade, position integer not null, state text not null,
      attempts integer not null, platform text not null, "startedAt" bigint not null, "endedAt" bigint, held text,
      url text not null, result text, error text, primary key ("jobId", position))`,
      'create index batch_links_state on batch_links ("jobId", state, position)',
    ),
    // A foreign key locks the table that it names.
    changes: ['jobs'],
  },
};
