/*
 * The plans of this process for operators: what `mediagate plans list` prints of the plans file.
 */

import { Type } from '../../core/contracts/index.js';
import type { Route } from '../http/index.js';
import type { Catalogue } from '../plans/index.js';
import { adminRoute } from './admin-route.js';
import type { AdminServices } from './services.js';

/** Plans as the gateway has read them, also of the `--json` output. */
export const PlanCatalogue = Type.Unsafe<Catalogue>({
  type: 'object',
  description: 'Plans, free tier, prices, grants and budgets as the gateway read them; see [Plans](plans.md).',
});

export function planRoutes(services: AdminServices): Route[] {
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/plans',
      summary: 'List plans',
      description: 'Returns the plans, the free tier, prices, grants and budgets as this process has read them.',
      answer: { description: 'The plans.', name: 'PlanCatalogue', schema: PlanCatalogue },
      run: async () => services.catalogue,
    }),
  ];
}
