/*
 * What routes of every subject use. A folder's routes add what else they name; server/app.ts composes all of it.
 */

import type { Gateway } from 'mediagate';
import type { Clock, Logger, Siblings } from '../../core/runtime/index.js';
import type { AddressOf } from './addresses.js';
import type { BodyBudget } from './bodies/body-budget.js';
import type { PollGuard } from './fixed-windows.js';

/** What routes of every subject use. Each app has one. */
export interface ServerContext {
  gateway: Gateway;
  logger: Logger;
  clock: Clock;
  /** Public address of this gateway, without a trailing slash. Called whenever a link is made. */
  baseUrl(): string;
  addressOf: AddressOf;
  /** Budget of bodies in memory. */
  bodies: BodyBudget;
  polls: PollGuard;
  /** Aborts when the shutdown begins. */
  drain: AbortSignal;
  /** The other workers of this machine. */
  siblings: Siblings;
}
