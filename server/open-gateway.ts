/*
 * Creates the gateway of core from the settings and the plugins file. The file is the configured one,
 * `plugins.config.json` of the working folder, or that of the package. Programs such as ffmpeg and the browser are
 * looked up once; a configured program that is not executable ends the start. Prices are taken from the plugins file
 * and `PRICES_FILE`, and aliases of a model share its prices. For inspection (`readOnly`) nothing is checked and no
 * secret is created.
 */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createGateway, type Gateway, type GatewayServices } from 'mediagate';
import type { ModelPrices, PluginEntry } from '../core/contracts/index.js';
import type { Jobs } from '../core/jobs/index.js';
import { isLoopbackHost } from '../core/net/index.js';
import { entriesBefore, readPluginConfig, resolveAliases, servesOf } from '../core/plugins/index.js';
import { type Logger, systemClock } from '../core/runtime/index.js';
import { type LivePrices, readPrices } from './prices/index.js';
import {
  checkExecutables,
  findChromium,
  findFfmpeg,
  findLinkSecrets,
  loadLinkSecrets,
  type Settings,
} from './settings/index.js';
import type { State } from './state.js';

/** Bytes a second. */
const BYTES_OF_MEGABIT = 125_000;

export interface OpenGatewayOptions {
  settings: Settings;
  environment: NodeJS.ProcessEnv;
  logger: Logger;
  /** Shared state, if any; everything else is the gateway's own. */
  services?: Pick<GatewayServices, 'http' | 'cache' | 'storage' | 'meter' | 'siblings'>;
  /** Default: those of the plugins file. */
  plugins?: readonly PluginEntry[];
  /** Job store. Default: no background jobs. */
  jobs?: Jobs;
  /** Store of responses and background responses. Default: none. */
  responses?: Pick<State, 'storedResponses' | 'backgroundResponses'>;
  /** Called whenever a link is made: the port is known only after the gateway is ready. */
  baseUrl(): string;
  /** For inspection: its links are valid only during this process, and no secret is created. Default false. */
  readOnly?: boolean;
}

/** The plugins.config.json to read, and whether it is the one of the package. */
export function pluginsFileOf(settings: Settings): { file: string; isPackaged: boolean } {
  const local = path.resolve('plugins.config.json');
  const own = settings.pluginsConfig ?? (existsSync(local) ? local : undefined);
  if (own) return { file: own, isPackaged: false };
  return { file: fileURLToPath(new URL('../../plugins.config.json', import.meta.url)), isPackaged: true };
}

/** Names of the environment variables that the plugins file reads. @throws PluginConfigError */
export async function variablesOfPlugins(settings: Settings): Promise<string[]> {
  const entries = await readPluginConfig(pluginsFileOf(settings).file, {});
  return entries.flatMap(({ variables }) => variables?.names ?? []);
}

/**
 * Reads the prices of the settings and of the plugins file. Of several entries that state prices of a model, the first
 * enabled one counts, and one that is no fallback.
 * @param plugins Default: those of the plugins file.
 * @returns Undefined if there are none.
 * @throws PluginConfigError, PricesError
 */
export async function readPricesOf(
  settings: Settings,
  environment: NodeJS.ProcessEnv,
  plugins?: readonly PluginEntry[],
): Promise<LivePrices | undefined> {
  const entries = plugins ?? (await readPluginConfig(pluginsFileOf(settings).file, environment));
  const enabled = entries.filter((entry) => entry.enabled !== false);
  const ranked = [...enabled.filter(({ fallback }) => !fallback), ...enabled.filter(({ fallback }) => fallback)];
  const models: Record<string, ModelPrices> = Object.assign({}, ...ranked.reverse().map(({ prices }) => prices));
  const used = enabled.filter((entry) => !entriesBefore(entry, enabled).length);
  const aliases = resolveAliases(used.map((entry) => ({ ...entry, served: servesOf(entry) })));
  return readPrices({ file: settings.pricesFile, currency: settings.pricesCurrency, models, aliases });
}

/** Whether a fallback plugin for sign-in has no use: OIDC_ISSUER provides it, or the site is not on loopback. */
function hasOwnSignIn({ oidcIssuer, siteUrl, baseUrl }: Settings): boolean {
  const site = siteUrl ?? baseUrl;
  return oidcIssuer !== undefined || (site !== undefined && !isLoopbackHost(new URL(site).hostname));
}

function withoutSignInFallback(entry: PluginEntry): PluginEntry {
  return entry.fallback && entry.serves?.includes('sign-in') ? { ...entry, enabled: false } : entry;
}

/**
 * Creates a gateway from the settings and the plugins file.
 * @throws SettingsError if a configured program is not executable, unless `readOnly` is set.
 */
export async function openGateway(options: OpenGatewayOptions): Promise<Gateway> {
  const { settings, environment, logger, services, jobs, responses, readOnly = false } = options;
  if (!readOnly) await checkExecutables(settings);
  const { file } = pluginsFileOf(settings);
  const [plugins, secrets, ffmpegPath, chromium] = await Promise.all([
    options.plugins ?? readPluginConfig(file, environment),
    readOnly ? findLinkSecrets(settings) : loadLinkSecrets(settings),
    findFfmpeg({ configured: settings.ffmpegPath, searchPath: environment.PATH }),
    settings.browser
      ? findChromium({ configured: settings.browserPath, searchPath: environment.PATH }, settings.dataDir)
      : undefined,
  ]);
  return createGateway({
    plugins: hasOwnSignIn(settings) ? plugins.map(withoutSignInFallback) : plugins,
    baseFolder: options.plugins ? process.cwd() : path.dirname(file),
    services: { ...services, logger, clock: systemClock },
    egressProxyUrl: settings.egressProxyUrl,
    trustedOrigins: settings.trustedOrigins,
    cacheTtlMs: settings.extractCacheSeconds * 1000,
    ffmpegPath,
    ...(jobs && { jobs: { store: jobs, workers: settings.extractWorkers, maxActive: settings.extractMaxActive } }),
    images: {
      workers: settings.imageWorkers,
      maxPerKey: settings.imageMaxPerKey,
      maxActive: settings.imageMaxActive,
      fileMs: settings.imageFileHours * 3_600_000,
      restartPolicy: settings.imageRestartPolicy,
      graceMs: settings.shutdownSeconds * 1_000,
    },
    text: {
      responses: responses?.storedResponses,
      background: responses?.backgroundResponses,
      abortCharge: settings.abortCharge,
    },
    scratchFolder: path.join(settings.dataDir, 'scratch'),
    ...(chromium && {
      browser: { executable: chromium.prepare, maxMemoryBytes: settings.browserMemoryMb * 1024 * 1024 },
    }),
    audioLinks: {
      get baseUrl() {
        return options.baseUrl();
      },
      secrets,
      ttlMs: settings.audioLinkHours * 3_600_000,
    },
    ...(settings.mediaProxy !== 'off' && {
      mediaLinks: {
        get baseUrl() {
          return options.baseUrl();
        },
        secrets,
        ...(settings.mediaKeyMbits > 0 && { keyBytesPerSecond: settings.mediaKeyMbits * BYTES_OF_MEGABIT }),
        ...(settings.mediaMbits > 0 && { bytesPerSecond: settings.mediaMbits * BYTES_OF_MEGABIT }),
        spoolBytes: settings.videoSpoolMb * 1024 * 1024,
        exactCutSeconds: settings.exactCutSeconds,
      },
    }),
  });
}
