/*
 * Makes the changes of models effective in this process: it reads them when the gateway opens and every 2 seconds, and at
 * once where a worker of this machine made one. Then models are switched off and on, upstreams weighed, prices replaced,
 * and servers that were added are loaded as entries of the plugins that the plugins file uses, too. Nothing restarts, and
 * requests that run go on. While the database is unavailable the last state stays. A change that this process cannot
 * make, such as a key that was sealed under another secret, is logged, and the others are made.
 */

import { hash } from 'node:crypto';
import type { Gateway } from 'mediagate';
import type { ModelPrices, PluginEntry } from '../../core/contracts/index.js';
import {
  createThrottledWarning,
  type Logger,
  noSiblings,
  type PollLoop,
  type Siblings,
  startPollLoop,
} from '../../core/runtime/index.js';
import type { LivePrices } from '../prices/index.js';
import type { AddedServer, ChangedModel, ChangedModels } from './changed-models.js';
import type { Sealer } from './sealed-keys.js';

const REFRESH_MS = 2_000;
/** Topic of siblings: models have changed. */
const CHANGED = 'models_changed';
/** Milliseconds of a call, as of the text providers in the plugins file. */
const TIMEOUT_MS = 600_000;

export interface AppliedModelsOptions {
  changes: Pick<ChangedModels, 'list'>;
  gateway: Pick<Gateway, 'adjustModels'>;
  /** Default: this gateway has no prices. */
  prices?: Pick<LivePrices, 'change'> | undefined;
  sealer: Sealer;
  logger: Logger;
  /** The other workers of this machine. Default: none. */
  siblings?: Siblings;
}

/** Id of the entry of an added model. */
export function entryIdOf(model: string): string {
  const name = model.toLowerCase().replace(/[^a-z0-9_.-]+/g, '-');
  // Of two models whose names differ in other letters alone.
  const digest = hash('sha256', model).slice(0, 8);
  return `added.${name.slice(0, 40)}-${digest}`;
}

export class AppliedModels {
  readonly #options: AppliedModelsOptions;
  readonly #siblings: Siblings;
  readonly #polling: PollLoop;
  readonly #report: (error: unknown) => void;
  #running = Promise.resolve();
  /** What was applied last, as JSON. */
  #applied = '[]';
  #all: readonly ChangedModel[] = [];

  private constructor(options: AppliedModelsOptions) {
    this.#options = options;
    this.#siblings = options.siblings ?? noSiblings;
    this.#report = createThrottledWarning(options.logger, 'changes of models cannot be read; the last ones stay');
    this.#polling = startPollLoop({
      intervalMs: REFRESH_MS,
      work: () => this.#refresh(),
      report: (error) => this.#report(error),
    });
  }

  /** Resolves when the changes were read and made, or could not be. */
  static async open(options: AppliedModelsOptions): Promise<AppliedModels> {
    const applied = new AppliedModels(options);
    await applied.#polling.first;
    applied.#siblings.on(CHANGED, () => void applied.#tryRefresh());
    return applied;
  }

  /** Everything that differs from the configuration, as this process has it. */
  get all(): readonly ChangedModel[] {
    return this.#all;
  }

  /** Seals the key of a server for {@link ChangedModel.sealedKey}. */
  seal(model: string, key: string): string {
    return this.#options.sealer.seal(model, key);
  }

  /** Makes changes effective at once, in all workers of this machine. Never rejects. */
  refresh(): Promise<void> {
    this.#siblings.post(CHANGED);
    return this.#tryRefresh();
  }

  close(): Promise<void> {
    return this.#polling.stop();
  }

  #tryRefresh(): Promise<void> {
    return this.#refresh().catch((error: unknown) => this.#report(error));
  }

  /** One after the other: an older read must not overwrite a newer one. */
  #refresh(): Promise<void> {
    const next = this.#running.then(() => this.#read());
    this.#running = next.catch(() => undefined);
    return next;
  }

  async #read(): Promise<void> {
    const all = await this.#options.changes.list();
    const text = JSON.stringify(all);
    if (text === this.#applied) return;
    const { gateway, prices, logger } = this.#options;
    await gateway.adjustModels({
      closed: new Set(all.flatMap(({ model, isClosed }) => (isClosed ? [model] : []))),
      weights: new Map(all.flatMap(({ model, weights }) => (weights ? [[model, weights] as const] : []))),
      entries: all.flatMap((one) => (one.added ? this.#entryOf(one, one.added) : [])),
    });
    const priced = all.flatMap((one): [string, ModelPrices][] => (one.prices ? [[one.model, one.prices]] : []));
    if (prices) prices.change(Object.fromEntries(priced));
    else if (priced.length > 0)
      logger.warn('prices of models are stored, but PRICES_FILE or PRICES_CURRENCY is not set');
    this.#all = all;
    this.#applied = text;
  }

  #entryOf({ model, sealedKey }: ChangedModel, server: AddedServer): PluginEntry[] {
    const { sealer, logger } = this.#options;
    const apiKey = sealedKey === undefined ? undefined : sealer.open(model, sealedKey);
    if (sealedKey !== undefined && apiKey === undefined) {
      logger.error(`the key of the added model ${model} cannot be read: KEY_PEPPER is another one. Add it again.`);
      return [];
    }
    return [entryOf(model, server, apiKey)];
  }
}

/** The entry of an added model, as the plugins file would have it, but with guarded addresses. */
function entryOf(id: string, server: AddedServer, apiKey: string | undefined): PluginEntry {
  const { format, url, model, contextLength } = server;
  const listed = { id, ...(model !== undefined && { model }), ...(contextLength !== undefined && { contextLength }) };
  return {
    id: entryIdOf(id),
    use: `mediagate/plugins/${format}_text`,
    options: { models: [listed], upstreams: [{ url, ...(apiKey !== undefined && { apiKey }) }] },
    timeoutMs: TIMEOUT_MS,
    isGuarded: true,
  };
}
