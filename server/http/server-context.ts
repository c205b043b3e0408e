import type { Clock, Gateway, Logger, Tracer } from 'mediagate';
import type { AddressOf, SiteAddress } from './addresses.js';
import type { BodyBudget } from './body-budget.js';
import type { PollGuard, Semaphore } from './request.js';
import type { Route } from './route.js';

/*
 * What the handlers of routes share. A folder adds what it brings by declaration merging, so that the routes of one subject
 * see the types of others without an import of all of them. `server-context.ts` above this folder makes the values.
 */

/** What an app is made from. */
export interface AppDependencies {
  gateway: Gateway;
  logger: Logger;
  clock: Clock;
  /** Public address of this gateway, without a trailing slash. Asked whenever a link is made. */
  baseUrl(): string;
  /** Whether image sizes beside the named ones are accepted. */
  anyImageSize: boolean;
  /** Images that an account may ask for on one day (UTC). Default: any number. */
  imageDailyLimit?: number;
  /** Bytes of one sound that is sent. Default 26,214,400. */
  audioMaxBytes?: number;
  /** Whether the routes of Anthropic's format do anything. Default false. */
  messagesEnabled?: boolean;
  /** Addresses and networks of proxies whose `X-Forwarded-For` is believed. Default: none. */
  trustedProxies?: readonly string[];
  /** Accounts of people. Default: there are none, and nobody signs in. */
  account?: AccountDependencies;
  /** Where keys are made; named in errors about missing keys. Default: not named. */
  siteUrl?: string;
  /** Default: there are no traces. */
  tracer?: Tracer;
  /** Refused requests with a body above 64 KiB of one account in a minute, before more of them are 429. Default 60. */
  refusedBodiesPerMinute?: number;
  /** Whether they are served here as well, to everybody. Default false. */
  publicMetrics?: boolean;
}

/** The part of the state that accounts use. */
// biome-ignore lint/suspicious/noEmptyInterface: folders that own a part of it fill it
export interface AccountStores {}

/** What the account half of the server is made of. */
export interface AccountDependencies {
  state: AccountStores;
  /** Where people reach the site. */
  site(): SiteAddress;
}

/** What the handlers of routes share. Each app has one. */
export interface ServerContext extends AppDependencies {
  audioMaxBytes: number;
  messagesEnabled: boolean;
  addressOf: AddressOf;
  /** Bodies in memory. */
  bodies: BodyBudget;
  /** Forms, whose sounds are on the disk. */
  uploads: BodyBudget;
  polls: PollGuard;
  /** Requests that wait for an image. */
  waiting: Semaphore;
  /** Aborts when the gateway begins to finish. */
  drain: AbortSignal;
  /** Every route, as it is declared. */
  routes: Route[];
}

/** The same for routes of accounts. */
export interface AccountContext extends ServerContext {
  account: AccountDependencies;
  /** Bodies of callers without a key or a session. */
  publicBodies: BodyBudget;
}
