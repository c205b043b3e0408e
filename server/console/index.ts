/*
 * The console at `/admin`: pages for operators over the services of the admin API.
 */

import type { Route } from '../http/index.js';
import type { ConsoleServices } from './console-route.js';
import { orderPages } from './orders.js';
import { overviewPages } from './overview.js';
import { transferPages } from './transfers.js';
import { userPages } from './users.js';

/** Every page and form of the console. */
export function consoleRoutes(services: ConsoleServices): Route[] {
  return [...overviewPages(services), ...userPages(services), ...orderPages(services), ...transferPages(services)];
}
