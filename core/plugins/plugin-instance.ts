/*
 * One plugin instance: an entry of the configuration with its loaded plugin, its services, its state and its failures.
 * It is the only place that calls a plugin's code. Every call has a deadline; a call that ignores its abort is logged
 * at most once a minute. Errors pass through `readPluginFailure`, so clients never read option values. The host orders
 * the states: loading, then ready, failed or disabled, and disposed at the end.
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
import { checkContributions, namesServed } from './contributions.js';
import { configuredOriginsOf, createInstanceContext, type InstanceScope, type RootScope } from './instance-services.js';
import { checkEntry, entriesBefore, importPlugin } from './plugin-config.js';
import { createHideOptions, describeThrown, type HideOptions, readPluginFailure } from './plugin-failure.js';

const SETUP_MS = 10_000;
const DISPOSE_MS = 5_000;
const DEFAULT_CALL_MS = 30_000;
const REPORT_MS = 60_000;
const CHECK_MS = 5_000;

/** What every instance of a gateway is loaded with. */
export interface InstanceOptions {
  root: RootScope;
  logger: Logger;
  /** Origins that every instance may reach, besides its own. */
  trustedOrigins: readonly string[];
  baseFolder: string;
  /** Receives the requests of instances for metrics. Default: none. */
  meter?: Meter;
  /** Why a need cannot be met on this machine; undefined if it can. */
  unmet(need: 'browser' | 'ffmpeg'): string | undefined;
}

/** How calls of an instance end that the host does not make, since they continue after their answer. */
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

export class PluginInstance {
  readonly entry: PluginEntry;
  id: string;
  state: PluginState;
  reason: string | undefined;
  /** A variable whose value the plugin refused. */
  badVariable: string | undefined;
  contributions: Contributions = {};
  readonly #options: InstanceOptions;
  /** Variables that enable entries before this fallback. The nearest first: it takes the least to connect. */
  readonly #switchOff: readonly string[];
  readonly #lifetime = new AbortController();
  #plugin: Plugin | undefined;
  #scope: InstanceScope | undefined;
  #hideOptions: HideOptions;
  #unmet: PluginStatus['unmet'];
  #policy: InstancePolicy | undefined;
  /** When an ignored abort was logged last, in monotonic milliseconds. */
  #ignoredAt = Number.NEGATIVE_INFINITY;

  /** @param entries The whole configuration. */
  constructor(entry: PluginEntry, entries: readonly PluginEntry[], options: InstanceOptions) {
    const before = entriesBefore(entry, entries);
    const used = before.find(({ enabled = true }) => enabled);
    const isEnabled = entry.enabled !== false;
    this.entry = entry;
    this.id = entry.id ?? nameOf(entry);
    this.state = isEnabled && !used ? 'loading' : 'disabled';
    this.reason = isEnabled && used ? `replaced by ${nameOf(used)}` : undefined;
    this.#options = options;
    this.#switchOff = before.flatMap(({ variables }) => variables?.enabledBy ?? []).reverse();
    this.#hideOptions = createHideOptions(entry.options, [this.id]);
  }

  get isReady(): boolean {
    return this.state === 'ready';
  }

  get isDisposable(): boolean {
    return this.state === 'ready' || this.state === 'failed';
  }

  /** Whether the models are the default of the file, and not those that an operator has named. */
  get hasPresumedModels(): boolean {
    const { variables } = this.entry;
    return variables?.ofUnset?.models !== undefined && variables.ofOptions.models === undefined;
  }

  /** Private origins that it may reach. */
  get trustedOrigins(): readonly string[] {
    return [...this.#options.trustedOrigins, ...(this.entry.trustedOrigins ?? [])];
  }

  get #timeoutMs(): number {
    return this.entry.timeoutMs ?? DEFAULT_CALL_MS;
  }

  readonly hideOptions: HideOptions = (text) => this.#hideOptions(text);

  /** Imports the plugin, checks its options and calls `setup`. @throws an error for {@link fail}. */
  async prepare(): Promise<void> {
    const { entry } = this;
    const { root, meter, baseFolder } = this.#options;
    checkEntry(entry);
    const plugin = await importPlugin(entry.use, baseFolder);
    this.#plugin = plugin;
    this.id = entry.id ?? plugin.name;
    const checked = checkOptions(plugin, entry);
    this.#checkNeeds(plugin);
    const { scope, context } = createInstanceContext(root, {
      id: this.id,
      options: checked,
      uses: [...(plugin.needs ?? []), ...(plugin.wants ?? [])],
      timeoutMs: this.#timeoutMs,
      trustedOrigins: this.trustedOrigins,
      configuredOrigins: entry.isGuarded ? [] : configuredOriginsOf(plugin, checked),
      meter,
      lifetime: this.#lifetime.signal,
    });
    this.#scope = scope;
    const contributions = await withDeadline(SETUP_MS, () => runAsEntry(this.id, () => plugin.setup(context)), {
      error: () => new GatewayError('upstream_timeout', `setup did not finish within ${SETUP_MS / 1000} s`),
    });
    checkContributions(plugin, contributions);
    const served = namesServed(contributions);
    const missing = entry.serves?.find((name) => !served.includes(name));
    if (missing !== undefined)
      throw new Error(`its configuration lists ${missing}, but it serves ${served.join(', ')}`);
    this.contributions = contributions;
  }

  #checkNeeds({ needs = [] }: Plugin): void {
    for (const need of needs) {
      const reason = this.#options.unmet(need);
      if (!reason) continue;
      this.#unmet = need;
      throw new Error(`it needs ${need === 'browser' ? 'a browser' : need}: ${reason}`);
    }
  }

  /** @param served Public names, which are not redacted from its texts. */
  becomeReady(served: readonly string[]): void {
    const { aliases = [], options } = this.entry;
    this.state = 'ready';
    this.#hideOptions = createHideOptions(options, [this.id, ...aliases.map(({ name }) => name), ...served]);
  }

  /** @param all Every instance: a value that several of them refuse is logged once. */
  fail(error: unknown, all: readonly PluginInstance[]): void {
    const { logger } = this.#options;
    this.state = 'failed';
    this.reason = this.#hideOptions(reasonOf(error));
    if (!(error instanceof OptionsError)) {
      logger.error('plugin entry failed', { entry: this.id, error });
      return;
    }
    this.badVariable = error.variable;
    const isKnown = all.some((other) => other !== this && other.badVariable && other.reason === this.reason);
    // A configuration error, so the stack is of no use.
    if (error.variable === undefined || !isKnown)
      logger.error(`plugin entry failed: ${error.message}`, { entry: this.id });
  }

  /** @param served Names that clients may use of it. */
  status(served: readonly string[]): PluginStatus {
    const { entry } = this;
    const plugin = this.#plugin;
    return {
      id: this.id,
      plugin: plugin?.name ?? nameOf(entry),
      summary: plugin?.summary ?? '',
      state: this.state,
      ...(this.reason !== undefined && { reason: this.reason }),
      ...(this.badVariable !== undefined && { badVariable: this.badVariable }),
      ...(this.#unmet !== undefined && { unmet: this.#unmet }),
      variables: { names: entry.variables?.names ?? [], switchOff: this.#switchOff },
      provides: plugin?.provides ?? [],
      serves: this.isReady ? served : [],
      standIn: plugin?.standIn ?? false,
      required: entry.required ?? false,
      upstreams: this.stateOf(() => (this.isReady ? upstreamsOf(this.contributions) : [])),
    };
  }

  /** The state that the plugin reports; undefined if it throws, so that it does not hide the states of others. */
  stateOf<State>(ask: () => readonly State[] | undefined): readonly State[] {
    try {
      return ask() ?? [];
    } catch (error) {
      this.#options.logger.debug('a plugin failed to report its state', { entry: this.id, error });
      return [];
    }
  }

  /**
   * Asks its upstreams. Rejects with the signal's reason only.
   * @param served Names of its models, for the result if the plugin cannot say more.
   */
  async checkUpstreams(served: readonly string[], signal?: AbortSignal): Promise<CheckedUpstream[]> {
    const { id, contributions } = this;
    if (!contributions.checkUpstreams) return [];
    const ask = (checking: AbortSignal) =>
      runAsEntry(id, async () => contributions.checkUpstreams?.({ signal: checking }) ?? []);
    const error = () => new GatewayError('upstream_timeout', `No answer within ${CHECK_MS / 1000} s.`);
    const lifetime = this.#lifetime.signal;
    try {
      const found = await withDeadline(CHECK_MS, ask, { signals: [signal, lifetime], error });
      return found.map((check) => this.#describeCheck(check));
    } catch (thrown) {
      signal?.throwIfAborted();
      if (lifetime.aborted) return [];
      const reason = isGatewayError(thrown) ? thrown.message : 'The check failed, which is a fault of the plugin.';
      if (!isGatewayError(thrown))
        this.#options.logger.error('a plugin failed to check its upstreams', { entry: id, error: thrown });
      return [this.#describeCheck({ upstream: '', models: served, result: 'unreachable', reason })];
    }
  }

  #describeCheck(check: UpstreamCheck): CheckedUpstream {
    const { reason, remedy, option } = check;
    const redactAll = createRedaction(secretsIn(this.entry.options, ''));
    const { ofOptions = {}, ofUnset = {} } = this.entry.variables ?? {};
    // The models of all upstreams may have one variable.
    const options = option?.endsWith('.model') ? [option, 'models'] : option === undefined ? [] : [option];
    const [variable] = options.flatMap((one) => ofOptions[one] ?? ofUnset[one] ?? []);
    return {
      ...check,
      entry: this.id,
      ...(reason !== undefined && { reason: redactAll(reason) }),
      ...(remedy !== undefined && { remedy: redactAll(remedy) }),
      ...(option !== undefined && { setting: variable ?? `option ${option} of the entry ${this.id}` }),
    };
  }

  /**
   * Runs its code under its deadline.
   * @throws GatewayError as {@link InstancePolicy.failureOf} returns it, or the signal's reason.
   */
  async call<Result>(
    kind: ContributionKind,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const lifetime = this.#lifetime.signal;
    const signals = signal ? [signal, lifetime] : [lifetime];
    const timeoutMs = this.#timeoutMs;
    let ending: AbortSignal | undefined;
    let running: Promise<unknown> | undefined;
    const run = (callSignal: AbortSignal) => {
      ending = callSignal;
      const result = runAsEntry(this.id, () => work(callSignal));
      running = result;
      return result;
    };
    try {
      const error = () => new GatewayError('upstream_timeout', `No answer within ${timeoutMs / 1000} s.`);
      return await withDeadline(timeoutMs, run, { signals, error });
    } catch (error) {
      if (running && ending?.aborted) this.watchAborted(running);
      if (signals.some((one) => one.aborted && one.reason === error)) throw error;
      throw this.#failureOf(kind, error);
    }
  }

  /** Logs, at most once a minute, if an aborted call has not ended 5 s later. */
  watchAborted(work: Promise<unknown>): void {
    watchAborted(work, () => {
      const now = performance.now();
      if (!this.isReady || now - this.#ignoredAt < REPORT_MS) return;
      this.#ignoredAt = now;
      const message = 'a plugin ignores its abort signal: a call of it continues after its end';
      this.#options.logger.warn(message, { entry: this.id });
    });
  }

  get policy(): InstancePolicy {
    this.#policy ??= {
      timeoutMs: this.#timeoutMs,
      standIn: this.#plugin?.standIn ? this.#plugin.name : undefined,
      failureOf: (kind, thrown, signal) => {
        if (!signal?.aborted) return this.#failureOf(kind, thrown);
        const { reason } = signal;
        if (thrown === reason && isGatewayError(reason)) return reason;
        return withBoundedWait(readPluginFailure(kind, thrown, this.#hideOptions).error);
      },
      hideOptions: this.hideOptions,
    };
    return this.#policy;
  }

  #failureOf(kind: ContributionKind, thrown: unknown): GatewayError {
    // The gateway aborts its requests when it closes, which is not their failure.
    const isOurs = this.#lifetime.signal.aborted && isGatewayError(thrown) && thrown.code === 'shutting_down';
    if (isOurs) return thrown;
    const { error, fault } = readPluginFailure(kind, thrown, this.#hideOptions);
    if (fault) {
      const { message, ...fields } = fault;
      this.#options.logger.error(message, { entry: this.id, ...fields });
    }
    return withBoundedWait(error);
  }

  /** Aborts its requests, and then lets the plugin end what it holds. A failure is logged. */
  async dispose(): Promise<void> {
    this.#lifetime.abort(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    const end = () => runAsEntry(this.id, () => this.contributions.dispose?.());
    try {
      try {
        await withDeadline(DISPOSE_MS, end, {
          error: () => new GatewayError('upstream_timeout', `dispose did not finish within ${DISPOSE_MS / 1000} s`),
        });
      } finally {
        await this.#scope?.dispose();
      }
    } catch (error) {
      this.#options.logger.error('a plugin failed to dispose', { entry: this.id, error });
    }
    this.state = 'disposed';
  }
}

function upstreamsOf(contributions: Contributions): UpstreamState[] {
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
