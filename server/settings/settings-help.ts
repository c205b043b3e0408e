/*
 * Help about settings: the list in `serve --help`, and hints about misspelt variables. A variable counts as misspelt if
 * it is close to a known name word by word, or has a prefix that only this program uses. Variables of OpenTelemetry,
 * Kubernetes and linked containers are never reported. Values are not quoted. A `.env` file is not read, since it may
 * belong to another program; the start says so and names the file that is read.
 */

import { statSync } from 'node:fs';
import path from 'node:path';
import { closestMatch } from '../../core/runtime/index.js';
import { PLUGIN_SETTING_DESCRIPTIONS, type SettingDescription } from './setting-values.js';
import { SETTING_DESCRIPTIONS } from './settings.js';

/** The environment variables in `serve --help`, below its options: two lines each, which fits a narrow terminal. */
export function settingsHelp(): string {
  const all = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS];
  const width = Math.max(...all.map(({ name }) => name.length));
  const list = (settings: readonly SettingDescription[]) =>
    settings
      .flatMap(({ name, description, default: fallback }) => [
        `  ${name.padEnd(width)}  ${description}`,
        `  ${' '.repeat(width)}  Default: ${fallback}.`,
      ])
      .join('\n')
      .replaceAll('`', '');
  return [
    '',
    'Settings (environment variables, or lines NAME=value of mediagate.env in the data folder or the working folder):',
    list(SETTING_DESCRIPTIONS),
    '',
    'Models and keys, used by the packaged plugins.config.json:',
    list(PLUGIN_SETTING_DESCRIPTIONS),
  ].join('\n');
}

/** Commander's error about an option, and the setting with that name, if there is one. */
export function pointToSetting(complaint: string): string {
  const [, option = ''] = /unknown option '--([a-z-]+)/.exec(complaint) ?? [];
  const setting = option.replaceAll('-', '_').toUpperCase();
  const isSetting = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS].some(({ name }) => name === setting);
  return isSetting ? `${complaint.trimEnd()}\n(${setting}=… in the environment sets it)\n` : complaint;
}

/** Prefixes that are rare in other programs' variables; `IMAGE_` alone is common in container builds. */
const OWN_PREFIXES = [
  'IMAGE_UPSTREAM_',
  'IMAGE_MAX_',
  'TEXT_UPSTREAM_',
  'TRANSCRIPTION_UPSTREAM_',
  'SPEECH_UPSTREAM_',
  'ELEVENLABS_',
  'VIDSITE_',
  'EXTRACT_',
  'AUDIO_LINK_',
  'PAYMENT_',
  'FREE_TIER_',
] as const;

/** OpenTelemetry has many more variables than are read here, some of them a letter or two apart. */
const FOREIGN = /^OTEL_/;
/** Variables that Kubernetes and linked containers set for a service, which may be named `payment`. */
const OF_A_SERVICE = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;
const ADDRESS_OF_A_SERVICE = /^(tcp|udp|sctp):\/\//;

/** Nearly every word is close to a shorter name. */
const MIN_LETTERS = 6;

/**
 * One sentence for each variable that is no setting but looks like one. Values are not quoted: some are secret.
 * @param ofPlugins - Names that the entries of plugins.config.json read, which are known as well.
 */
export function findMisspelt(
  environment: Readonly<Record<string, string | undefined>>,
  ofPlugins: Iterable<string>,
): string[] {
  const settings = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS].map(({ name }) => name);
  const known = new Set([...settings, ...ofPlugins]);
  return Object.entries(environment)
    .filter(([name, value = '']) => value !== '' && !known.has(name) && !isForeign(name, value))
    .flatMap(([name]) => describeMisspelt(name, known));
}

function isForeign(name: string, value: string): boolean {
  if (!/^[A-Z][A-Z0-9_]*$/.test(name) || FOREIGN.test(name) || OF_A_SERVICE.test(name)) return true;
  return name.endsWith('_PORT') && ADDRESS_OF_A_SERVICE.test(value);
}

function describeMisspelt(name: string, known: ReadonlySet<string>): string[] {
  const match = closestMatch(name, known, (candidate) => mayBeMeant(name, candidate));
  if (match !== undefined) return [`${name} is not a setting. Did you mean ${match}?`];
  const prefix = OWN_PREFIXES.find((one) => name.startsWith(one));
  if (prefix === undefined) return [];
  const ours = [...known].filter((candidate) => candidate.startsWith(prefix));
  return [`${name} is not a setting. Settings that begin with ${prefix}: ${ours.join(', ')}.`];
}

/** Another word is no typo: `CACHE_TTL` is two letters from `CACHE_URL`. */
function mayBeMeant(name: string, candidate: string): boolean {
  if (candidate.length < MIN_LETTERS) return [...name].sort().join('') === [...candidate].sort().join('');
  const words = name.split('_');
  const wanted = candidate.split('_');
  return words.length !== wanted.length || words.every((word, index) => closestMatch(word, [wanted[index] ?? '']));
}

/** A file that many programs read, but this one does not: it may be meant for another program. */
export const DOT_ENV_ADVICE = 'Put the settings into mediagate.env, or load it: set -a; . ./.env; set +a';

/** Whether the working folder contains a file that usually has settings. */
export function hasDotEnv(): boolean {
  return statSync(path.resolve('.env'), { throwIfNoEntry: false })?.isFile() ?? false;
}
