/*
 * The plugins of a gateway: they are loaded, found by their id, and disposed. Entries load concurrently but are
 * registered in the order of the configuration, so timing does not decide which one gets a name; a failed entry is
 * reported and the others continue, unless it is required. Entries may be added, changed and removed while the gateway
 * runs: running calls of an old instance continue for up to an hour. Upstream checks run all at once. Disposal runs in
 * reverse order.
 *
 * Models are absent that no server has: those that the plugins file presumes, that the operator has not named, and that
 * the lists of all their upstreams lack. Clients do not see them in the list of models. A request for one is still
 * sent, and a model that has answered is never absent again, because some servers have models that they do not list.
 */

import type { CheckedUpstream, ContributionKind, PluginEntry, PluginStatus } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { PluginConfigError } from './plugin-config.js';
import { type InstanceOptions, type InstancePolicy, PluginInstance } from './plugin-instance.js';
import type { Registry } from './registry.js';

/** Milliseconds that running calls of an instance have after it was replaced or removed. */
const RETIRED_MS = 3_600_000;

interface PluginHostOptions extends InstanceOptions {
  registry: Registry;
}

export class PluginHost {
  /** Models that their upstreams do not list, by the latest check. */
  readonly absent = new AbsentModels(() => performance.now());
  readonly #options: PluginHostOptions;
  readonly #registry: Registry;
  /** In the order of the configuration. */
  #all: readonly PluginInstance[] = [];
  /** By id. */
  readonly #ready = new Map<string, PluginInstance>();
  /** Those that {@link adjust} has loaded, by id. */
  readonly #added = new Map<string, PluginInstance>();
  /** Replaced and removed instances whose calls may still run, with what disposes them. */
  readonly #retired = new Map<PluginInstance, NodeJS.Timeout>();

  constructor(options: PluginHostOptions) {
    this.#options = options;
    this.#registry = options.registry;
  }

  /** Loads all entries concurrently. @throws PluginConfigError naming the entry if a required one failed. */
  async load(entries: readonly PluginEntry[]): Promise<void> {
    this.#all = entries.map((entry) => new PluginInstance(entry, entries, this.#options));
    const wanted = this.#all.filter(({ state }) => state === 'loading');
    const outcomes = await Promise.allSettled(wanted.map((instance) => instance.prepare()));
    for (const [index, instance] of wanted.entries()) this.#settle(instance, outcomes[index]);
    this.#warnOfFallbacks();
    const missing = wanted.find(({ entry, state }) => entry.required && state === 'failed');
    if (missing) throw new PluginConfigError(`The required plugin entry "${missing.id}" failed: ${missing.reason}`);
  }

  /**
   * Loads further entries while the gateway runs. An entry of an earlier call that is missing or different is retired: it
   * gets no new calls. Calls of this must not overlap. A failed entry is reported by {@link status}.
   */
  async adjust(entries: readonly PluginEntry[]): Promise<void> {
    const loaded = [...this.#added.values()].map(({ entry }) => entry);
    const further = entries.filter((entry) => !loaded.some((one) => isSame(one, entry)));
    const instances = further.map((entry) => new PluginInstance(entry, [entry], this.#options));
    const outcomes = await Promise.allSettled(instances.map((instance) => instance.prepare()));
    // From here on nothing is awaited, so that a model that moves is there for every request.
    for (const [id, instance] of this.#added) {
      if (!entries.some((entry) => isSame(entry, instance.entry))) this.#retire(id, instance);
    }
    for (const [index, instance] of instances.entries()) {
      this.#all = [...this.#all, instance];
      this.#added.set(instance.id, instance);
      this.#settle(instance, outcomes[index]);
    }
  }

  /** Registers an instance that was prepared. A failure becomes its state. */
  #settle(instance: PluginInstance, outcome: PromiseSettledResult<void> | undefined): void {
    try {
      if (outcome?.status === 'rejected') throw outcome.reason;
      this.#register(instance);
    } catch (error) {
      instance.fail(error, this.#all);
    }
  }

  #retire(id: string, instance: PluginInstance): void {
    this.#added.delete(id);
    this.#all = this.#all.filter((one) => one !== instance);
    if (!instance.isDisposable) return;
    if (this.#ready.get(id) === instance) {
      this.#ready.delete(id);
      this.#registry.remove(id);
    }
    const end = () => {
      this.#retired.delete(instance);
      void instance.dispose();
    };
    this.#retired.set(instance, setTimeout(end, RETIRED_MS).unref());
  }

  #register(instance: PluginInstance): void {
    const { id, entry, contributions, hideOptions } = instance;
    if (this.#ready.has(id)) throw new Error(`the id "${id}" is used by an earlier instance`);
    this.#registry.add(id, contributions, hideOptions, entry);
    instance.becomeReady(this.#registry.servedBy(id));
    this.#ready.set(id, instance);
  }

  #warnOfFallbacks(): void {
    const registry = this.#registry;
    for (const { contribution } of registry.texts) {
      for (const { id: model, fallbacks = [] } of contribution.models) {
        const unknown = fallbacks.filter((name) => !registry.textProvider(registry.resolve(name)));
        if (unknown.length > 0)
          this.#options.logger.warn(`a fallback is no text model that is ready: ${unknown.join()}`, { model });
      }
    }
  }

  status(): readonly PluginStatus[] {
    return this.#all.map((instance) => instance.status(this.#registry.servedBy(instance.id)));
  }

  /** Asks the upstreams of every ready instance, all at once. Rejects with the signal's reason only. */
  async checkUpstreams(signal?: AbortSignal): Promise<readonly CheckedUpstream[]> {
    const ready = this.#all.filter(({ isReady }) => isReady);
    const checks = await Promise.all(
      ready.map((instance) => instance.checkUpstreams(this.#registry.servedBy(instance.id), signal)),
    );
    const presumed = ready.map(({ hasPresumedModels }, index) => (hasPresumedModels ? (checks[index] ?? []) : []));
    this.absent.read(presumed.flat());
    return checks.flat();
  }

  /**
   * Runs a plugin's code under the instance's deadline.
   * @throws GatewayError as {@link InstancePolicy.failureOf} returns it, or the signal's reason.
   */
  async call<Result>(
    kind: ContributionKind,
    entry: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return this.#find(entry).call(kind, signal, work);
  }

  /** The policy for calls of an instance that {@link call} does not make, since they continue after their answer. */
  policy(entry: string): InstancePolicy {
    return this.#find(entry).policy;
  }

  /** @throws GatewayError `plugin_unavailable` */
  #find(entry: string): PluginInstance {
    const instance = this.#ready.get(entry) ?? [...this.#retired.keys()].find(({ id }) => id === entry);
    if (!instance) throw new GatewayError('plugin_unavailable', `The plugin entry "${entry}" is not ready.`);
    return instance;
  }

  /** Logs, at most once a minute for each instance, if an aborted call of it has not ended 5 s later. */
  watchAborted(entry: string, work: Promise<unknown>): void {
    this.#ready.get(entry)?.watchAborted(work);
  }

  /** The state that a plugin reports; empty if it throws, so that one plugin does not hide the states of others. */
  stateOf<State>(entry: string, ask: () => readonly State[] | undefined): readonly State[] {
    return this.#ready.get(entry)?.stateOf(ask) ?? [];
  }

  /** Private origins that this instance may reach. */
  trustedOriginsOf(entry: string): readonly string[] {
    return this.#ready.get(entry)?.trustedOrigins ?? [];
  }

  /** Sets the weights of upstreams, by model and name of the upstream; a model that is left out has its configured ones. */
  weigh(weights: ReadonlyMap<string, Readonly<Record<string, number>>>): void {
    const { texts, images, audio } = this.#registry;
    for (const { entry, contribution } of [...texts, ...images, ...audio]) {
      this.stateOf(entry, () => {
        for (const { id } of contribution.models) contribution.weigh?.(id, weights.get(id));
        return [];
      });
    }
  }

  /** In reverse order of the configuration. */
  async dispose(): Promise<void> {
    for (const [instance, timer] of this.#retired) {
      clearTimeout(timer);
      await instance.dispose();
    }
    this.#retired.clear();
    for (const instance of [...this.#all].reverse()) {
      if (!instance.isDisposable) continue;
      this.#registry.remove(instance.id);
      await instance.dispose();
    }
  }
}

const RECHECK_MS = 60_000;

class AbsentModels {
  readonly #monotonic: () => number;
  readonly #absent = new Set<string>();
  readonly #proven = new Set<string>();
  #checkedAt: number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#checkedAt = monotonic();
  }

  /** Reads the results of a check of all upstreams. */
  read(checks: readonly CheckedUpstream[]): void {
    this.#checkedAt = this.#monotonic();
    this.#absent.clear();
    for (const { models, result } of checks)
      if (result === 'unknown_model') for (const id of models) this.#absent.add(id);
    for (const { models, result } of checks)
      if (result !== 'unknown_model') for (const id of models) this.#absent.delete(id);
    for (const id of this.#proven) this.#absent.delete(id);
  }

  has(id: string): boolean {
    return this.#absent.size > 0 && this.#absent.has(id);
  }

  /** Called for each answer, so that it must be cheap. */
  answered(id: string): void {
    if (this.#absent.size > 0 && this.#absent.delete(id)) this.#proven.add(id);
  }

  /** Whether it is time for another check, since a server may have got a model. True at most once a minute. */
  isDue(): boolean {
    if (this.#absent.size === 0 || this.#monotonic() - this.#checkedAt < RECHECK_MS) return false;
    this.#checkedAt = this.#monotonic();
    return true;
  }
}

function isSame(one: PluginEntry, other: PluginEntry): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
