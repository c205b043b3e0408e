/*
 * What route handlers share. A folder adds its fields by declaration merging, so that the routes of one subject see the
 * types of others without importing all of them. `createServerContext` in server/app.ts creates the values.
 */

import type { Gateway } from 'mediagate';
import type { Tracer } from '../../core/contracts/index.js';
import type { Clock, Logger } from '../../core/runtime/index.js';
import type { AddressOf, SiteAddress } from './addresses.js';
import type { BodyBudget } from './body-budget.js';
import type { PollGuard, Semaphore } from './request.js';
import type { Route } from './route.js';

/** The dependencies of an app. */
export interface AppDependencies {
  gateway: Gateway;
  logger: Logger;
  clock: Clock;
  /** Public address of this gateway, without a trailing slash. Called whenever a link is made. */
  baseUrl(): string;
  /** Whether other image sizes than the named ones are accepted. */
  anyImageSize: boolean;
  /** Images per account and UTC day, of operators' keys. Default: unlimited. */
  imageDailyLimit?: number;
  /** Images per site account and UTC day, if its plan names no limit. Default: as `imageDailyLimit`. */
  accountImageDailyLimit?: number;
  /** Share of a queue, above 0 to 1, that open jobs of a site account may take. Default 0.1. */
  accountQueueShare?: number;
  /** Maximum bytes of an uploaded audio file. Default 26,214,400. */
  audioMaxBytes?: number;
  /** Maximum bytes of a body on text routes. Default 33,554,432. */
  textMaxBytes?: number;
  /** Whether the routes of Anthropic's format are enabled. Default false. */
  messagesEnabled?: boolean;
  /** Whether the names of the service document are listed for models with names of their own. Default true. */
  modelAliases?: boolean;
  /** Origins of pages that may call the API; `*` is every origin. Default: none. */
  corsOrigins?: readonly string[];
  /** Addresses and networks of proxies with a trusted `X-Forwarded-For`. Default: none. */
  trustedProxies?: readonly string[];
  /** User accounts. Default: none, and sign-in is disabled. */
  account?: AccountDependencies;
  /** URL of the page where keys are made; named in errors about missing keys. Default: not named. */
  siteUrl?: string;
  /** Default: no tracing. */
  tracer?: Tracer;
  /** Refused requests with a body above 64 KiB per account and minute, before more of them get 429. Default 60. */
  refusedBodiesPerMinute?: number;
  /** Whether metrics are also served here, publicly. Default false. */
  publicMetrics?: boolean;
}

/** The part of the state that accounts use. */
// biome-ignore lint/suspicious/noEmptyInterface: folders that own a part of it fill it
export interface AccountStores {}

/** The dependencies of the account part of the server. */
export interface AccountDependencies {
  state: AccountStores;
  /** The public address of the site. */
  site(): SiteAddress;
}

/** What route handlers share. Each app has one. */
export interface ServerContext extends AppDependencies {
  audioMaxBytes: number;
  textMaxBytes: number;
  messagesEnabled: boolean;
  modelAliases: boolean;
  accountQueueShare: number;
  addressOf: AddressOf;
  /** Budget of bodies in memory. */
  bodies: BodyBudget;
  /** Budget of forms; their audio files are on disk. */
  uploads: BodyBudget;
  polls: PollGuard;
  /** Permits of requests that wait for an image. */
  waiting: Semaphore;
  /** Aborts when the shutdown begins. */
  drain: AbortSignal;
  /** Every route, as it is declared. */
  routes: Route[];
}

/** The same for account routes. */
export interface AccountContext extends ServerContext {
  account: AccountDependencies;
  /** Budget of bodies of callers without a key or a session. */
  publicBodies: BodyBudget;
}
