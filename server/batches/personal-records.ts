/*
 * Exports the links of an account's batches. Their erasure is that of the jobs, whose rows they are deleted with.
 */

import type { Selectable } from '../../core/database/index.js';
import { type PersonalRecords, pages, parseJson, withTimes } from '../personal-records/index.js';
import { decodeResult } from './batch-links.js';
import type { BatchLinksTable } from './tables.js';

/** Results may be large. */
const ROWS = 20;

export const batchPersonalRecords: PersonalRecords = {
  tables: { batch_links: 'deleted with jobs' },

  exported: (database, { accountId }) => ({
    async *batch_links() {
      const rows = pages<Selectable<BatchLinksTable>>(database, ROWS, (after) => (queries) => {
        const { jobId, position } = after ?? { jobId: '', position: -1 };
        return queries
          .selectFrom('batch_links')
          .innerJoin('jobs', 'jobs.id', 'batch_links.jobId')
          .selectAll('batch_links')
          .where('jobs.owner', '=', accountId)
          .where(({ eb, refTuple, tuple }) => eb(refTuple('jobId', 'position'), '>', tuple(jobId, position)))
          .orderBy('jobId')
          .orderBy('position')
          .limit(ROWS)
          .execute();
      });
      for await (const { url, held, result, error, ...row } of rows) {
        yield withTimes({
          ...row,
          url: parseJson(url),
          held: parseJson(held),
          ...(result === null ? { result: null } : decodeResult(result)),
          error: parseJson(error),
        });
      }
    },
  }),
};
