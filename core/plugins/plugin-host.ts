/*
 * Loads plugin instances and finds them by their ids. Entries load concurrently but are registered in the order of the
 * configuration, so timing does not decide which one gets a name. A failed entry is reported and the others continue,
 * unless it is required. Upstream checks run all at once. Disposal runs in reverse order.
 */

import type { CheckedUpstream, ContributionKind, PluginEntry, PluginStatus } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { AbsentModels } from './absent-models.js';
import { PluginConfigError } from './plugin-config.js';
import { type InstanceOptions, type InstancePolicy, PluginInstance } from './plugin-instance.js';
import type { Registry } from './registry.js';

export interface PluginHostOptions extends InstanceOptions {
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

  constructor(options: PluginHostOptions) {
    this.#options = options;
    this.#registry = options.registry;
  }

  /** Loads all entries concurrently. @throws PluginConfigError naming the entry if a required one failed. */
  async load(entries: readonly PluginEntry[]): Promise<void> {
    this.#all = entries.map((entry) => new PluginInstance(entry, entries, this.#options));
    const wanted = this.#all.filter(({ state }) => state === 'loading');
    const outcomes = await Promise.allSettled(wanted.map((instance) => instance.prepare()));
    for (const [index, instance] of wanted.entries()) {
      const outcome = outcomes[index];
      try {
        if (outcome?.status === 'rejected') throw outcome.reason;
        this.#register(instance);
      } catch (error) {
        instance.fail(error, this.#all);
      }
    }
    this.#warnOfFallbacks();
    const missing = wanted.find(({ entry, state }) => entry.required && state === 'failed');
    if (missing) throw new PluginConfigError(`The required plugin entry "${missing.id}" failed: ${missing.reason}`);
  }

  #register(instance: PluginInstance): void {
    const { id, entry, contributions, hideOptions } = instance;
    if (this.#ready.has(id)) throw new Error(`the id "${id}" is used by an earlier instance`);
    this.#registry.add(id, contributions, hideOptions, entry.aliases);
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
    const instance = this.#ready.get(entry);
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

  /** In reverse order of the configuration. */
  async dispose(): Promise<void> {
    for (const instance of [...this.#all].reverse()) {
      if (!instance.isDisposable) continue;
      this.#registry.remove(instance.id);
      await instance.dispose();
    }
  }
}
