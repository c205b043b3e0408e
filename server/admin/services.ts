/*
 * What the admin API and the console work with: the whole state, the running gateway, the plans and prices of this
 * process. The functions of this folder take the parts that they need.
 */

import type { ServerContext } from '../http/index.js';
import type { KeyTable, Pepper } from '../keys/index.js';
import type { AppliedModels } from '../model-changes/index.js';
import type { Health } from '../observability/index.js';
import type { PlanTermsOptions } from '../plans/index.js';
import type { LivePrices, Prices } from '../prices/index.js';
import type { ReportedSetting } from '../settings/index.js';
import type { State } from '../state.js';
import type { Latencies } from '../usage/index.js';

/** What an app needs for its operators, beside what its other routes need. */
export interface AdminDependencies extends PlanTermsOptions {
  state: State;
  /** The pepper for hashing new keys. */
  pepper: Pepper;
  /** What operators have changed of models, as this process has it. */
  changedModels: Pick<AppliedModels, 'all' | 'refresh' | 'seal'>;
  /** The prices, as operators may change them. Default: there are none, and can be none. */
  livePrices?: LivePrices | undefined;
  /** How long models take. Default: it is not measured. */
  latencies?: Pick<Latencies, 'read'>;
  /** The settings of this process, without secrets. Called whenever they are asked for. */
  settings(): readonly ReportedSetting[];
}

export interface AdminServices extends ServerContext, AdminDependencies {
  /** The keys of this process, which follow a change within 2 s by themselves. */
  keys: Pick<KeyTable, 'refresh'>;
  health: Pick<Health, 'checks'>;
  /** Default: there are none, and no costs are shown. */
  prices?: Prices;
  messagesEnabled: boolean;
}

/** A part of the services. */
export type Of<Names extends keyof AdminServices> = Pick<AdminServices, Names>;
/** A part of the state, as services. */
export interface Stored<Names extends keyof State> {
  state: Pick<State, Names>;
}
