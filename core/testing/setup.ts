/*
 * Sets up a plugin outside a gateway: its services are replaced, its time stands still by default, and its options are
 * checked and filled as in the gateway. Browser and ffmpeg are absent, and a use that the plugin did not declare is
 * recorded. `setup` and `dispose` have the gateway's own deadlines. The helpers return the one contribution of a kind,
 * or fail if the plugin has none.
 */

import assert from 'node:assert';
import type {
  AudioFilters,
  AudioProvider,
  Browser,
  Clock,
  Contributions,
  Extractor,
  HttpClient,
  ImageProvider,
  Plugin,
  PluginContext,
  TextProvider,
} from '../contracts/index.js';
import { absentAudioFilters } from '../media/index.js';
import { createValidator, GatewayError, systemClock } from '../runtime/index.js';
import { createMemoryCache } from '../storage/index.js';
import { createMemoryStorage, createRecordingLogger, type LogLine } from './fakes.js';
import { called } from './limits.js';

export interface TestSetupOptions {
  plugin: Plugin;
  /** As in plugins.config.json; defaults are filled in. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  http: HttpClient;
  /** The time of `clock.now()`, which stands still. Default 2026-06-15T12:00:00Z. */
  now?: string;
  /** Clock for waiting. Default: real time. */
  waiting?: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Whether `clock.now()` moves with `waiting`. Default false. */
  movesNow?: boolean;
}

/** A plugin set up as by the gateway, with every service replaced. */
export interface TestSetup {
  contributions: Contributions;
  context: PluginContext;
  logs: readonly LogLine[];
  /** As given, without defaults. */
  options: Readonly<Record<string, unknown>>;
  /** Uses of services that the plugin lists neither in `needs` nor in `wants`. */
  undeclared: readonly string[];
  /** As when the gateway closes. */
  dispose(): Promise<void>;
}

const NOW = '2026-06-15T12:00:00Z';
/** As in the gateway, in milliseconds. */
const SETUP_MS = 10_000;
const DISPOSE_MS = 5_000;

/** @throws what `setup` throws, and Error if the options do not fit the plugin's schema. */
export async function setUpPlugin(wanted: TestSetupOptions): Promise<TestSetup> {
  const { plugin, options = {}, http, now = NOW, waiting = systemClock, movesNow = false } = wanted;
  const logger = createRecordingLogger();
  const undeclared: string[] = [];
  const declared = [...(plugin.needs ?? []), ...(plugin.wants ?? [])];
  const instant = Date.parse(now);
  const { monotonic, sleep } = waiting;
  const begun = monotonic();
  const clock: Clock = { monotonic, sleep, now: () => (movesNow ? instant + monotonic() - begun : instant) };
  const browser: Browser = {
    available: false,
    run() {
      if (!declared.includes('browser')) undeclared.push('browser');
      return Promise.reject(new GatewayError('plugin_unavailable', 'There is no browser in this test.'));
    },
  };
  const ffmpeg: AudioFilters = {
    available: absentAudioFilters.available,
    samples(call) {
      if (!declared.includes('ffmpeg')) undeclared.push('ffmpeg');
      return absentAudioFilters.samples(call);
    },
  };
  const context: PluginContext = {
    id: plugin.name,
    options: fillOptions(plugin, options) as PluginContext['options'],
    http,
    browser,
    ffmpeg,
    cache: createMemoryCache(clock),
    storage: createMemoryStorage(clock),
    logger,
    clock,
  };
  const contributions = await called('setup()', () => plugin.setup(context), SETUP_MS);
  const dispose = () => called('dispose()', async () => contributions.dispose?.(), DISPOSE_MS);
  return { contributions, context, options, logs: logger.lines, undeclared, dispose };
}

function fillOptions(plugin: Plugin, options: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!plugin.options) return Object.freeze({ ...options });
  const checked = createValidator(plugin.options).check(options);
  if (!checked.ok) {
    const [issue] = checked.issues;
    throw new Error(`The options do not fit the schema of ${plugin.name}: ${issue?.path} ${issue?.message}`);
  }
  return Object.freeze(checked.value as Record<string, unknown>);
}

/** The one extractor that a plugin contributes. @throws AssertionError if there is none. */
export function extractorOf({ contributions }: TestSetup): Extractor {
  return one(contributions.extractors, 'extractor');
}

export function imageProviderOf({ contributions }: TestSetup): ImageProvider {
  return one(contributions.imageProviders, 'image provider');
}

export function audioProviderOf({ contributions }: TestSetup): AudioProvider {
  return one(contributions.audioProviders, 'audio provider');
}

export function textProviderOf({ contributions }: TestSetup): TextProvider {
  return one(contributions.textProviders, 'text provider');
}

function one<Contribution>([first]: readonly Contribution[] = [], name: string): Contribution {
  assert(first, `setup returned no ${name}`);
  return first;
}
