import type Router from '@koa/router';
import {
  type ApiKeyRecord,
  type Budgets,
  type Clock,
  GatewayError,
  type Grant,
  type SlotAnswer,
  type UsageLedger,
  type WindowFamily,
  type Windows,
} from 'mediagate';
import { slotRequest } from '../limits.js';
import { type createAuth, keyOf } from '../middleware/auth.js';
import type { RequestContext, RequestState } from '../middleware/request-state.js';
import type { PollGuard } from '../poll-guard.js';
import { type DayRange, readDayRange } from '../usage-days.js';
import { encodeKeyUsage } from '../wire/usage.js';

export interface UsageRoutes {
  windows: Windows;
  budgets: Budgets;
  ledger: UsageLedger;
  auth: ReturnType<typeof createAuth>;
  polls: PollGuard;
  clock: Clock;
}

const FAMILIES: Readonly<Record<Grant, WindowFamily>> = {
  images: 'image',
  extract: 'link_data',
  text: 'model',
  audio: 'model',
};

/** What the key itself used, and what it has left. Costs no slot. */
export function addUsageRoute(router: Router<RequestState>, options: UsageRoutes): void {
  const { windows, budgets, ledger, auth, polls, clock } = options;

  router.get('/v1/usage', auth({ allowApiKeyHeader: true }), async (context: RequestContext) => {
    const key = keyOf(context);
    polls.admit(key.id);
    const range = rangeOf(context, clock.now());
    const [looked, budget, totals] = await Promise.all([
      lookAtWindows(windows, key),
      key.budgetId === null ? undefined : budgets.find(key.budgetId),
      ledger.totals({ keyId: key.id, ...range }),
    ]);
    context.res.setHeader('Cache-Control', 'no-store');
    context.body = encodeKeyUsage({ key, windows: looked, budget, range, totals });
  });
}

async function lookAtWindows(windows: Windows, key: ApiKeyRecord): Promise<Record<string, SlotAnswer> | undefined> {
  if (key.rpm === null) return undefined;
  const families = [...new Set(key.grants.map((grant) => FAMILIES[grant]))];
  const looked: Record<string, SlotAnswer> = {};
  for (const family of families) {
    const request = slotRequest({ key, family });
    if (request) looked[family] = await windows.peek(request);
  }
  return looked;
}

function rangeOf({ query }: RequestContext, now: number): DayRange {
  const { from, to } = query;
  for (const [param, value] of Object.entries({ from, to })) {
    if (Array.isArray(value)) throw new GatewayError('invalid_value', `${param} is there twice.`, { param });
  }
  const range = readDayRange({ from: from as string | undefined, to: to as string | undefined }, now);
  if (!('problem' in range)) return range;
  const { member, problem } = range;
  throw new GatewayError('invalid_value', `${member} ${problem}.`, { param: member });
}
