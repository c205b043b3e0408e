import type { Migrations } from '../../core/database/index.js';
import * as foundation from './0001-foundation.js';
import * as jobs from './0002-jobs.js';
import * as imageJobs from './0003-image-jobs.js';
import * as usage from './0004-usage.js';
import * as accounts from './0005-accounts.js';
import * as jobsOfAccount from './0006-jobs-of-account.js';
import * as jobOrigins from './0007-job-origins.js';
import * as growth from './0008-growth.js';
import * as joinableJobs from './0009-joinable-jobs.js';
import * as keyedWindows from './0010-keyed-windows.js';
import * as recentSlots from './0011-recent-slots.js';
import * as endedJobsOfAccount from './0012-ended-jobs-of-account.js';
import * as backgroundResponses from './0013-background-responses.js';
import * as idempotentResponses from './0014-kept-answers.js';
import * as signsOfLife from './0015-signs-of-life.js';
import * as webhooks from './0016-webhooks.js';
import * as planStacking from './0017-plan-stacking.js';
import * as instances from './0018-instances.js';
import * as admission from './0019-admission.js';
import * as processHeartbeats from './0020-process-heartbeats-needs-0020.js';

/**
 * All migrations, run in the order of their names. A released one is never changed. Expand, then contract: a migration
 * leaves the schema usable by the release before it, so columns and tables go one release after their last reader. The name
 * of one that takes something away says who may go on: `0012-no-summary-needs-0009` turns away releases that do not have
 * 0009, whatever else they can do.
 */
export const migrations: Migrations = {
  '0001-foundation': foundation,
  '0002-jobs': jobs,
  '0003-image-jobs': imageJobs,
  '0004-usage': usage,
  '0005-accounts': accounts,
  '0006-jobs-of-account': jobsOfAccount,
  '0007-job-origins': jobOrigins,
  '0008-growth': growth,
  '0009-joinable-jobs': joinableJobs,
  '0010-keyed-windows': keyedWindows,
  '0011-recent-slots': recentSlots,
  '0012-ended-jobs-of-account': endedJobsOfAccount,
  '0013-background-responses': backgroundResponses,
  '0014-kept-answers': idempotentResponses,
  '0015-signs-of-life': signsOfLife,
  '0016-webhooks': webhooks,
  '0017-plan-stacking': planStacking,
  '0018-instances': instances,
  '0019-admission': admission,
  '0020-process-heartbeats-needs-0020': processHeartbeats,
};
