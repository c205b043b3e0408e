/*
 * Loads plugin instances, records their state, and is the only way to call a plugin's code. Entries load concurrently
 * but are registered in the order of the configuration, so timing does not decide which one gets a name. A failed
 * entry is reported and the others continue, unless it is required. Every call has a deadline; a call that ignores its
 * abort is logged at most once a minute. Errors pass through `readPluginFailure`. Upstream checks run all at once
 * within 5 seconds. Disposal runs in reverse order and aborts the instance's requests first.
 */

import path from 'node:path';
import type {
  CheckedUpstream,
  ContributionKind,
  Contributions,
  Logger,
  Meter,
  Plugin,
  PluginEntry,
  PluginState,
  PluginStatus,
  UpstreamCheck,
  UpstreamState,
} from '../contracts/index.js';
import { createRedaction, runAsEntry } from '../observability/index.js';
import {
  createValidator,
  GatewayError,
  isGatewayError,
  watchAborted,
  withBoundedWait,
  withDeadline,
} from '../runtime/index.js';
import { type AbsentModels, createAbsentModels } from './absent-models.js';
import { configuredOriginsOf, createInstanceContext, type InstanceScope, type RootScope } from './instance-services.js';
import { checkEntry, entriesBefore, importPlugin, PluginConfigError } from './plugin-config.js';
import { createHideOptions, describeThrown, type HideOptions, readPluginFailure } from './plugin-failure.js';
import { checkContributions, namesServed, type Registry } from './registry.js';

const SETUP_MS = 10_000;
const DISPOSE_MS = 5_000;
const DEFAULT_CALL_MS = 30_000;
const REPORT_MS = 60_000;
const CHECK_MS = 5_000;

export interface PluginHostOptions {
  root: RootScope;
  registry: Registry;
  logger: Logger;
  /** Origins that every instance may reach, besides its own. */
  trustedOrigins: readonly string[];
  baseFolder: string;
  /** Receives the requests of instances for metrics. Default: none. */
  meter?: Meter;
  /** Why a need cannot be met on this machine; undefined if it can. */
  unmet(need: 'browser' | 'ffmpeg'): string | undefined;
}

/** Loads plugin instances, keeps their state, and is the only way to call a plugin's code. */
export interface PluginHost {
  /** Loads all entries concurrently. @throws PluginConfigError naming the entry if a required one failed. */
  load(entries: readonly PluginEntry[]): Promise<void>;
  status(): readonly PluginStatus[];
  /** Asks the upstreams of every ready instance, all at once. Rejects with the signal's reason only. */
  checkUpstreams(signal?: AbortSignal): Promise<readonly CheckedUpstream[]>;
  /**
   * Runs a plugin's code under the instance's deadline.
   * @throws GatewayError as {@link InstancePolicy.failureOf} returns it, or the signal's reason.
   */
  call<Result>(
    kind: ContributionKind,
    entry: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result>;
  /**
   * The policy for calls of an instance that are not made through {@link call}, since they continue after their answer.
   */
  policy(entry: string): InstancePolicy;
  /** Logs, at most once a minute for each instance, if an aborted call of it has not ended 5 s later. */
  watchAborted(entry: string, work: Promise<unknown>): void;
  /** Models that their upstreams do not list, by the latest check. */
  readonly absent: AbsentModels;
  /** The state that a plugin reports; undefined if it throws, so that one plugin does not hide the states of others. */
  stateOf<State>(entry: string, ask: () => readonly State[] | undefined): readonly State[];
  /** Private origins that this instance may reach. */
  trustedOriginsOf(entry: string): readonly string[];
  /** In reverse order of the configuration. */
  dispose(): Promise<void>;
}

export interface InstancePolicy {
  /** Deadline in milliseconds. */
  readonly timeoutMs: number;
  /** Name of the plugin, if it only replaces a provider that is not configured. */
  readonly standIn: string | undefined;
  /**
   * Converts an error of the plugin to the client's error: one with a code of such a contribution, without option
   * values. Anything else is logged and becomes `upstream_changed`.
   * @param signal Of the call: its abort is the gateway's own, and does not count against the plugin.
   */
  failureOf(kind: ContributionKind, thrown: unknown, signal?: AbortSignal): GatewayError;
  /** Redacts the instance's option values from other texts of the plugin for clients. */
  readonly hideOptions: HideOptions;
}

interface Loaded {
  id: string;
  state: PluginState;
  reason?: string;
  badVariable?: string;
  unmet?: NonNullable<PluginStatus['unmet']>;
  /** Variables that enable entries before this fallback. */
  switchOff: readonly string[];
  plugin?: Plugin;
  contributions?: Contributions;
  scope?: InstanceScope;
  hideOptions: HideOptions;
  /** When an ignored abort was logged last, in monotonic milliseconds. */
  ignoredAt?: number;
  readonly lifetime: AbortController;
  readonly entry: PluginEntry;
}

export function createPluginHost(options: PluginHostOptions): PluginHost {
  const { root, registry, logger } = options;
  let all: Loaded[] = [];
  const absent = createAbsentModels(() => performance.now());
  const policy = new Map<string, InstancePolicy>();
  const trustedBy = (entry: PluginEntry) => [...options.trustedOrigins, ...(entry.trustedOrigins ?? [])];

  async function prepare(loaded: Loaded): Promise<void> {
    const { entry } = loaded;
    checkEntry(entry);
    const plugin = await importPlugin(entry.use, options.baseFolder);
    loaded.plugin = plugin;
    loaded.id = entry.id ?? plugin.name;
    const checked = checkOptions(plugin, entry);
    for (const need of plugin.needs ?? []) {
      const reason = options.unmet(need);
      if (!reason) continue;
      loaded.unmet = need;
      throw new Error(`it needs ${need === 'browser' ? 'a browser' : need}: ${reason}`);
    }
    const { scope, context } = createInstanceContext(root, {
      id: loaded.id,
      options: checked,
      uses: [...(plugin.needs ?? []), ...(plugin.wants ?? [])],
      timeoutMs: entry.timeoutMs ?? DEFAULT_CALL_MS,
      trustedOrigins: trustedBy(entry),
      configuredOrigins: configuredOriginsOf(plugin, checked),
      meter: options.meter,
      lifetime: loaded.lifetime.signal,
    });
    loaded.scope = scope;
    const contributions = await withDeadline(SETUP_MS, () => runAsEntry(loaded.id, () => plugin.setup(context)), {
      error: () => new GatewayError('upstream_timeout', `setup did not finish within ${SETUP_MS / 1000} s`),
    });
    checkContributions(plugin, contributions);
    const served = namesServed(contributions);
    const missing = entry.serves?.find((name) => !served.includes(name));
    if (missing !== undefined)
      throw new Error(`its configuration lists ${missing}, but it serves ${served.join(', ')}`);
    loaded.contributions = contributions;
  }

  function failureOf(loaded: Loaded, kind: ContributionKind, thrown: unknown): GatewayError {
    // The gateway aborts its requests when it closes, which is not their failure.
    const isOurs = loaded.lifetime.signal.aborted && isGatewayError(thrown) && thrown.code === 'shutting_down';
    if (isOurs) return thrown;
    const { error, fault } = readPluginFailure(kind, thrown, loaded.hideOptions);
    if (fault) {
      const { message, ...fields } = fault;
      logger.error(message, { entry: loaded.id, ...fields });
    }
    return withBoundedWait(error);
  }

  function watchCall(entry: string, work: Promise<unknown>): void {
    watchAborted(work, () => {
      const loaded = all.find(({ id, state }) => id === entry && state === 'ready');
      const now = performance.now();
      if (!loaded || now - (loaded.ignoredAt ?? Number.NEGATIVE_INFINITY) < REPORT_MS) return;
      loaded.ignoredAt = now;
      logger.warn('a plugin ignores its abort signal: a call of it continues after its end', { entry });
    });
  }

  async function checkEntryUpstreams(loaded: Loaded, signal?: AbortSignal): Promise<CheckedUpstream[]> {
    const { id, contributions, lifetime } = loaded;
    if (!contributions?.checkUpstreams) return [];
    const ask = (checking: AbortSignal) =>
      runAsEntry(id, async () => contributions.checkUpstreams?.({ signal: checking }) ?? []);
    const error = () => new GatewayError('upstream_timeout', `No answer within ${CHECK_MS / 1000} s.`);
    try {
      const found = await withDeadline(CHECK_MS, ask, { signals: [signal, lifetime.signal], error });
      return found.map((check) => describeCheck(loaded, check));
    } catch (thrown) {
      signal?.throwIfAborted();
      if (lifetime.signal.aborted) return [];
      const reason = isGatewayError(thrown) ? thrown.message : 'The check failed, which is a fault of the plugin.';
      if (!isGatewayError(thrown)) logger.error('a plugin failed to check its upstreams', { entry: id, error: thrown });
      return [describeCheck(loaded, { upstream: '', models: registry.servedBy(id), result: 'unreachable', reason })];
    }
  }

  function stateOf<State>(entry: string, ask: () => readonly State[] | undefined): readonly State[] {
    try {
      return ask() ?? [];
    } catch (error) {
      logger.debug('a plugin failed to report its state', { entry, error });
      return [];
    }
  }

  function fail(loaded: Loaded, error: unknown): void {
    loaded.state = 'failed';
    loaded.reason = loaded.hideOptions(reasonOf(error));
    if (!(error instanceof OptionsError)) {
      logger.error('plugin entry failed', { entry: loaded.id, error });
      return;
    }
    if (error.variable !== undefined) {
      loaded.badVariable = error.variable;
      // A value that several entries use is one mistake.
      if (all.some((other) => other !== loaded && other.badVariable && other.reason === loaded.reason)) return;
    }
    // A configuration error, so the stack is of no use.
    logger.error(`plugin entry failed: ${error.message}`, { entry: loaded.id });
  }

  return {
    async load(entries) {
      all = entries.map((entry) => {
        const id = entry.id ?? nameOf(entry);
        const before = entriesBefore(entry, entries);
        const used = before.find(({ enabled = true }) => enabled);
        return {
          id,
          entry,
          // The nearest first: it takes the least to connect.
          switchOff: before.flatMap(({ variables }) => variables?.enabledBy ?? []).reverse(),
          hideOptions: createHideOptions(entry.options, [id]),
          state: entry.enabled === false || used ? ('disabled' as const) : ('loading' as const),
          ...(entry.enabled !== false && used && { reason: `replaced by ${nameOf(used)}` }),
          lifetime: new AbortController(),
        };
      });
      const wanted = all.filter((loaded) => loaded.state === 'loading');
      const outcomes = await Promise.allSettled(wanted.map(prepare));
      // Registered one after the other, in the configuration's order, so that timing does not decide which instance
      // gets a name.
      const ids = new Set<string>();
      for (const [index, loaded] of wanted.entries()) {
        const outcome = outcomes[index];
        if (outcome?.status === 'rejected') {
          fail(loaded, outcome.reason);
        } else if (ids.has(loaded.id)) {
          fail(loaded, new Error(`the id "${loaded.id}" is used by an earlier instance`));
        } else {
          try {
            const { aliases = [], options: given } = loaded.entry;
            registry.add(loaded.id, loaded.contributions ?? {}, (text) => loaded.hideOptions(text), aliases);
            loaded.state = 'ready';
            const names = aliases.map(({ name }) => name);
            loaded.hideOptions = createHideOptions(given, [loaded.id, ...names, ...registry.servedBy(loaded.id)]);
            ids.add(loaded.id);
          } catch (error) {
            fail(loaded, error);
          }
        }
      }
      for (const { contribution } of registry.texts) {
        for (const { id: model, fallbacks = [] } of contribution.models) {
          const unknown = fallbacks.filter((name) => !registry.textProvider(registry.resolve(name)));
          if (unknown.length > 0)
            logger.warn(`a fallback is no text model that is ready: ${unknown.join()}`, { model });
        }
      }
      const missing = wanted.find((loaded) => loaded.entry.required && loaded.state === 'failed');
      if (missing) throw new PluginConfigError(`The required plugin entry "${missing.id}" failed: ${missing.reason}`);
    },

    status: () =>
      all.map((loaded) => ({
        id: loaded.id,
        plugin: loaded.plugin?.name ?? nameOf(loaded.entry),
        summary: loaded.plugin?.summary ?? '',
        state: loaded.state,
        ...(loaded.reason !== undefined && { reason: loaded.reason }),
        ...(loaded.badVariable !== undefined && { badVariable: loaded.badVariable }),
        ...(loaded.unmet !== undefined && { unmet: loaded.unmet }),
        variables: { names: loaded.entry.variables?.names ?? [], switchOff: loaded.switchOff },
        provides: loaded.plugin?.provides ?? [],
        serves: loaded.state === 'ready' ? registry.servedBy(loaded.id) : [],
        standIn: loaded.plugin?.standIn ?? false,
        required: loaded.entry.required ?? false,
        upstreams: stateOf(loaded.id, () => upstreamsOf(loaded)),
      })),

    async checkUpstreams(signal) {
      const ready = all.filter(({ state }) => state === 'ready');
      const checks = (await Promise.all(ready.map((loaded) => checkEntryUpstreams(loaded, signal)))).flat();
      const presumed = new Set(ready.filter(hasPresumedModels).map(({ id }) => id));
      absent.read(checks.filter(({ entry }) => presumed.has(entry)));
      return checks;
    },

    absent,
    stateOf,
    watchAborted: watchCall,

    async call(kind, entry, signal, work) {
      const loaded = all.find((candidate) => candidate.id === entry && candidate.state === 'ready');
      if (!loaded) throw new GatewayError('plugin_unavailable', `The plugin entry "${entry}" is not ready.`);
      const signals = signal ? [signal, loaded.lifetime.signal] : [loaded.lifetime.signal];
      const timeoutMs = loaded.entry.timeoutMs ?? DEFAULT_CALL_MS;
      let ending: AbortSignal | undefined;
      let running: Promise<unknown> | undefined;
      const run = (callSignal: AbortSignal) => {
        ending = callSignal;
        const result = runAsEntry(entry, () => work(callSignal));
        running = result;
        return result;
      };
      try {
        const error = () => new GatewayError('upstream_timeout', `No answer within ${timeoutMs / 1000} s.`);
        return await withDeadline(timeoutMs, run, { signals, error });
      } catch (error) {
        if (running && ending?.aborted) watchCall(entry, running);
        if (signals.some((one) => one.aborted && one.reason === error)) throw error;
        throw failureOf(loaded, kind, error);
      }
    },

    policy(entry) {
      const known = policy.get(entry);
      if (known) return known;
      const loaded = all.find(({ id, state }) => id === entry && state === 'ready');
      if (!loaded) throw new GatewayError('plugin_unavailable', `The plugin entry "${entry}" is not ready.`);
      const fresh: InstancePolicy = {
        timeoutMs: loaded.entry.timeoutMs ?? DEFAULT_CALL_MS,
        standIn: loaded.plugin?.standIn ? loaded.plugin.name : undefined,
        failureOf(kind, thrown, signal) {
          if (!signal?.aborted) return failureOf(loaded, kind, thrown);
          const { reason } = signal;
          if (thrown === reason && isGatewayError(reason)) return reason;
          return withBoundedWait(readPluginFailure(kind, thrown, loaded.hideOptions).error);
        },
        hideOptions: (text) => loaded.hideOptions(text),
      };
      policy.set(entry, fresh);
      return fresh;
    },

    trustedOriginsOf: (entry) => all.filter(({ id }) => id === entry).flatMap((loaded) => trustedBy(loaded.entry)),

    async dispose() {
      for (const loaded of [...all].reverse()) {
        if (loaded.state !== 'ready' && loaded.state !== 'failed') continue;
        registry.remove(loaded.id);
        policy.delete(loaded.id);
        loaded.lifetime.abort(new GatewayError('shutting_down', 'The gateway is shutting down.'));
        try {
          const { contributions, scope } = loaded;
          try {
            await withDeadline(DISPOSE_MS, () => runAsEntry(loaded.id, () => contributions?.dispose?.()), {
              error: () => new GatewayError('upstream_timeout', `dispose did not finish within ${DISPOSE_MS / 1000} s`),
            });
          } finally {
            await scope?.dispose();
          }
        } catch (error) {
          logger.error('a plugin failed to dispose', { entry: loaded.id, error });
        }
        loaded.state = 'disposed';
      }
    },
  };
}

/** Whether the models are the default of the file, and not those that an operator has named. */
function hasPresumedModels({ entry: { variables } }: Loaded): boolean {
  return variables?.ofUnset?.models !== undefined && variables.ofOptions.models === undefined;
}

function upstreamsOf({ state, contributions = {} }: Loaded): UpstreamState[] {
  if (state !== 'ready') return [];
  const { imageProviders = [], audioProviders = [], textProviders = [] } = contributions;
  const providers = [...imageProviders, ...audioProviders, ...textProviders];
  return providers.flatMap((provider) => provider.upstreams?.() ?? []);
}

/** Names of options whose values no text may hold. */
const SECRET_OPTION = /key|secret|token|password/i;

function secretsIn(value: unknown, name: string): string[] {
  if (typeof value === 'string') return SECRET_OPTION.test(name) ? [value] : [];
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([field, one]) => secretsIn(one, field))
    : [];
}

function describeCheck({ id, entry }: Loaded, check: UpstreamCheck): CheckedUpstream {
  const { reason, remedy, option } = check;
  const redactAll = createRedaction(secretsIn(entry.options, ''));
  const { ofOptions = {}, ofUnset = {} } = entry.variables ?? {};
  // The models of all upstreams may have one variable.
  const options = option?.endsWith('.model') ? [option, 'models'] : option === undefined ? [] : [option];
  const [variable] = options.flatMap((one) => ofOptions[one] ?? ofUnset[one] ?? []);
  return {
    ...check,
    entry: id,
    ...(reason !== undefined && { reason: redactAll(reason) }),
    ...(remedy !== undefined && { remedy: redactAll(remedy) }),
    ...(option !== undefined && { setting: variable ?? `option ${option} of the entry ${id}` }),
  };
}

function nameOf({ use }: PluginEntry): string {
  return typeof use === 'string' ? path.basename(use) : String(use?.name ?? 'plugin');
}

/** The message may contain credentials, and health is public. */
const redact = createRedaction([]);

/** In one line. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return redact(`it threw ${describeThrown(error)}`);
  const [first = ''] = error.message.split('\n');
  const message = redact(first);
  if (error instanceof SyntaxError) return `it cannot be read as JavaScript: ${message}`;
  // A missing module is an error of the configuration.
  return message.replace(/ imported from \S+plugin-config\.js$/, '');
}

/** Invalid options; the message names them, or the variable if one was substituted. */
class OptionsError extends Error {
  override readonly name = 'OptionsError';
  readonly variable: string | undefined;

  constructor(message: string, variable?: string) {
    super(message);
    this.variable = variable;
  }
}

/** @throws OptionsError */
function checkOptions(
  plugin: Plugin,
  { options: given = {}, variables }: PluginEntry,
): Readonly<Record<string, unknown>> {
  if (!plugin.options) {
    const [first] = Object.keys(given);
    if (first !== undefined) throw new OptionsError(`it accepts no options, but "${first}" is set`);
    return Object.freeze({});
  }
  const checked = createValidator(plugin.options).check(given);
  if (!checked.ok) {
    const { path: option = '', message = 'is not valid', params } = checked.issues[0] ?? {};
    const unset = variables?.ofUnset?.[option];
    if (unset !== undefined) throw new OptionsError(`${unset} must be set`, unset);
    const variable = variables?.ofOptions[option];
    const subject = variable ?? (option ? `option ${option}` : 'its options');
    throw new OptionsError(`${subject} ${message}${allowed(params)}`, variable);
  }
  return Object.freeze(checked.value as Record<string, unknown>);
}

function allowed({ allowedValues }: Readonly<Record<string, unknown>> = {}): string {
  return Array.isArray(allowedValues) ? `: ${allowedValues.join(', ')}` : '';
}
