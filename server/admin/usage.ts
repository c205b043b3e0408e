/*
 * Usage and costs of all keys for operators: sums over days by one dimension, which the database adds up, so that
 * millions of rows never reach this process. The dimensions are those of the Usage page, and account and group.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { OneOf, type Route, Text } from '../http/index.js';
import {
  addUp,
  encodeCounts,
  platformsOf,
  readRangeQuery,
  SUM_DIMENSIONS,
  type SumDimension,
  type SumQuery,
  USAGE_COUNTS,
  type UsageGroup,
} from '../usage/index.js';
import { adminRoute } from './admin-route.js';
import { DAYS_QUERY } from './requests.js';
import type { AdminServices, Of, Stored } from './services.js';

/** Groups of an answer; what is beyond them is in the total alone. */
const MAX_GROUPS = 1_000;

/** Days newest first; everything else with the most requests first, at most 1,000. */
export function sumUsage(
  { state: { usageSums }, gateway }: Stored<'usageSums'> & Of<'gateway'>,
  query: Omit<SumQuery, 'platforms' | 'limit'>,
  limit = MAX_GROUPS,
): Promise<readonly UsageGroup[]> {
  return usageSums.read({ ...query, platforms: [...platformsOf(gateway)], limit });
}

const UsageSums = Type.Object({
  object: field(Type.Literal('usage.groups'), 'Always `usage.groups`.'),
  by: field(OneOf(...SUM_DIMENSIONS), 'What `name` is.'),
  from: field(Text, 'First day, by UTC.', '2026-06-01'),
  to: field(Text, 'Last day, by UTC.', '2026-06-30'),
  currency: optional(Text, 'Currency of the costs (ISO 4217). Only if the gateway has prices.', 'USD'),
  total: field(Type.Object(USAGE_COUNTS), 'All days together.'),
  data: field(
    Type.Array(
      Type.Object({
        name: field(Text, 'Day, key, account, group, model, platform or route. Empty without one.', '2026-06-15'),
        ...USAGE_COUNTS,
      }),
    ),
    `Days newest first; all else with the most requests first, at most ${MAX_GROUPS}.`,
  ),
});

export function usageRoutes(services: AdminServices): Route[] {
  const { clock, prices } = services;
  const { currency } = prices ?? {};
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/usage',
      summary: 'Sum up usage and costs',
      description: 'Returns sums of what all keys used, by one dimension.',
      query: {
        by: { schema: Type.Unsafe<SumDimension>(OneOf(...SUM_DIMENSIONS)), description: 'Default `day`.' },
        key: { schema: Text, description: 'Only this key.' },
        account: { schema: Text, description: 'Only this account.' },
        group: { schema: Text, description: 'Only keys of this group.' },
        model: { schema: Text, description: 'Only this model or platform.' },
        route: { schema: Text, description: 'Only this route, such as /v1/chat/completions.' },
        ...DAYS_QUERY,
      },
      answer: { description: 'The sums.', name: 'UsageSums', schema: UsageSums },
      async run({ query: { by = 'day', key: keyId, account: accountId, group, model, route, from, to } }) {
        const range = readRangeQuery({ from, to }, clock.now());
        const filter = { keyId, accountId, group, model, route };
        const [groups, days] = await Promise.all([
          sumUsage(services, { by, ...filter, ...range }),
          by === 'day' ? undefined : sumUsage(services, { by: 'day', ...filter, ...range }),
        ]);
        const encode = (counts: UsageGroup['counts']) => encodeCounts(counts, currency !== undefined);
        return {
          object: 'usage.groups',
          by,
          ...range,
          ...(currency !== undefined && { currency }),
          total: encode(addUp((days ?? groups).map(({ counts }) => counts))),
          data: groups.map(({ name, counts }) => ({ name, ...encode(counts) })),
        };
      },
    }),
  ];
}
