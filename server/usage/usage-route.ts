import type Router from '@koa/router';
import type { Clock } from 'mediagate';
import type { PollGuard, RequestContext, RequestState } from '../http/index.js';
import { type createAuth, keyOf, lookAtWindows } from '../keys/index.js';
import type { Windows } from '../limits/index.js';
import type { Budgets } from './budgets.js';
import { readRangeQuery } from './range-query.js';
import { encodeKeyUsage } from './usage-format.js';
import type { UsageLedger } from './usage-log.js';
import { lookAtUsage } from './usage-view.js';

export interface UsageRoutes {
  windows: Windows;
  budgets: Budgets;
  ledger: UsageLedger;
  auth: ReturnType<typeof createAuth>;
  polls: PollGuard;
  clock: Clock;
}

/** What the key itself used, and what it has left. Costs no slot. */
export function addUsageRoute(router: Router<RequestState>, options: UsageRoutes): void {
  const { windows, budgets, ledger, auth, polls, clock } = options;

  router.get('/v1/usage', auth({ allowApiKeyHeader: true }), async (context: RequestContext) => {
    const key = keyOf(context);
    polls.admit(key.id);
    const range = readRangeQuery(context.query, clock.now());
    const [looked, { budget, totals }] = await Promise.all([
      lookAtWindows(windows, key),
      lookAtUsage({ budgets, ledger }, key.budgetId, { keyId: key.id, ...range }),
    ]);
    context.res.setHeader('Cache-Control', 'no-store');
    context.body = encodeKeyUsage({ key, windows: looked, budget, range, totals });
  });
}
