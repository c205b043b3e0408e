/*
 * The console at `/admin`: pages for operators over the services of the admin API.
 */

import { RecentUsage } from '../admin/index.js';
import type { Route } from '../http/index.js';
import { alertPages } from './alerts.js';
import { applicationPages } from './applications.js';
import { auditPages } from './audit.js';
import type { ConsoleServices } from './console-route.js';
import { groupPages } from './groups.js';
import { incidentPages } from './incidents.js';
import { invitationPages } from './invitations.js';
import { jobPages } from './jobs.js';
import { keyPages } from './keys.js';
import { modelPage } from './model.js';
import { modelPages } from './models.js';
import { balancePages, orderPages, transferPages } from './money/index.js';
import { overviewPages } from './overview.js';
import { requestPages } from './requests.js';
import { userPages } from './users.js';

/** Every page and form of the console. */
export function consoleRoutes(services: ConsoleServices): Route[] {
  const recent = new RecentUsage(services);
  return [
    ...overviewPages(services, recent),
    ...userPages(services),
    ...invitationPages(services),
    ...orderPages(services),
    ...transferPages(services),
    ...balancePages(services),
    ...keyPages(services),
    ...groupPages(services),
    ...applicationPages(services),
    ...modelPages(services, recent),
    ...modelPage(services, recent),
    ...requestPages(services),
    ...jobPages(services),
    ...alertPages(services),
    ...incidentPages(services),
    ...auditPages(services),
  ];
}
