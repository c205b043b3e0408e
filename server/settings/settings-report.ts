/*
 * The settings of a process for its operators, with secrets masked. What holds a secret follows from the name of the
 * variable, so a new setting with such a name is masked from the start; of every address, user, password and query are
 * left out, and of a webhook the path too.
 */

import { PLUGIN_SETTING_DESCRIPTIONS } from './setting-values.js';
import { SETTING_DESCRIPTIONS } from './settings.js';
import { usedSettingsFile } from './settings-file.js';

/** A setting as operators see it. */
export interface ReportedSetting {
  name: string;
  /** What applies; `***` in place of a secret. Null if it is not set and its default is no value. */
  value: string | null;
  source: 'environment' | 'file' | 'default';
  description: string;
}

const MASK = '***';
const SECRET = /SECRET|PEPPER|PASSWORD|TOKEN(?!S)|HEADERS|CREDENTIAL|(?:^|_)KEYS?$/;

/** Every setting of the gateway, and those of models that are set. */
export function reportSettings(environment: Readonly<Record<string, string | undefined>>): readonly ReportedSetting[] {
  const ofFile = new Set(usedSettingsFile()?.names);
  const set = ({ name }: { name: string }) => (environment[name]?.trim() ?? '') !== '';
  const all = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS.filter(set)];
  return all.map((setting) => {
    const { name, description, default: preset } = setting;
    if (!set(setting)) return { name, value: preset === '' ? null : preset, source: 'default', description };
    const value = maskSetting(name, environment[name]?.trim() ?? '');
    return { name, value, source: ofFile.has(name) ? 'file' : 'environment', description };
  });
}

/** The value of a setting without its secrets. */
export function maskSetting(name: string, value: string): string {
  if (SECRET.test(name)) return MASK;
  // A list of addresses, or words around one, as a whole if it cannot be taken apart.
  if (!value.includes('://')) return value;
  return value
    .split(/([\s,]+)/)
    .map((part) => (part.includes('://') ? maskAddress(part, name.includes('WEBHOOK')) : part))
    .join('');
}

function maskAddress(text: string, hidesPath: boolean): string {
  const url = URL.parse(text);
  if (!url) return MASK;
  const user = url.username === '' && url.password === '' ? '' : `${MASK}@`;
  const path = hidesPath ? `/${MASK}` : url.pathname;
  return `${url.protocol}//${user}${url.host}${path}${url.search === '' ? '' : `?${MASK}`}`;
}
