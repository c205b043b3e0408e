/*
 * Erases and exports the jobs of an account, which core knows as an owner.
 */

import { eraseJobs, type Jobs, readJobs, selectJobsOf } from '../../core/jobs/index.js';
import { clearNotes } from '../audit/index.js';
import { type PersonalRecords, withTimes } from '../personal-records/index.js';

export function jobPersonalRecords(jobs: Pick<Jobs, 'cancel'>): PersonalRecords {
  return {
    tables: { jobs: 'deleted', job_owners: 'deleted' },
    erase: (transaction, { accountId }) => clearNotes(transaction, selectJobsOf(transaction, accountId)),
    eraseWork: (database, owner, { files, signal }) => eraseJobs(database, jobs, { owner, files, signal }),
    exported: (database, { accountId }) => ({
      async *jobs() {
        for await (const job of readJobs(database, accountId)) yield withTimes(job);
      },
    }),
  };
}
