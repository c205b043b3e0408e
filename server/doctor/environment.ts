import { describeLinks, describeListening, hasLocalLinks, localAddress } from '../http/index.js';
import { variablesOfPlugins } from '../open-gateway.js';
import type { Settings } from '../settings/index.js';
import { DOT_ENV_ADVICE, findMisspelt, hasDotEnv } from '../settings/index.js';
import type { Finding } from './check.js';

/** Whether every variable that looks like a setting is one, and all of them are read. */
export async function checkSettings(settings: Settings, environment: NodeJS.ProcessEnv): Promise<Finding> {
  const name = 'settings';
  // A plugins file that cannot be read is a finding of its own.
  const misspelt = findMisspelt(environment, await variablesOfPlugins(settings).catch(() => []));
  const unread = hasDotEnv() ? ['There is a .env in this folder, which is not read.'] : [];
  if (misspelt.length + unread.length === 0) return { name, level: 'ok', detail: 'no variable looks misspelt' };
  const advice = [
    ...(misspelt.length > 0 ? ['Correct or remove these variables.'] : []),
    ...(unread.length > 0 ? [DOT_ENV_ADVICE] : []),
  ].join(' ');
  return { name, level: 'warn', detail: [...misspelt, ...unread].join(' '), advice };
}

/** Whether callers can use the links that they are given. */
export async function checkAddress(settings: Settings): Promise<Finding> {
  const address = localAddress(settings);
  const listening = describeListening(settings, address);
  const detail = `listens on ${listening}; links begin with ${describeLinks(settings, address)}`;
  const finding: Finding = { name: 'address', level: hasLocalLinks(settings) ? 'warn' : 'ok', detail };
  if (finding.level === 'ok') return finding;
  return { ...finding, advice: 'Set BASE_URL to the address that callers from elsewhere use.' };
}
