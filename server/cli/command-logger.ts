import { createLogger } from 'mediagate';
import type { Settings } from '../settings/index.js';
import { secretsOf } from '../settings/index.js';

/** Logger of a command that ends by itself: its person wants the result, so what went well is not logged. */
export function openCommandLogger(settings: Settings) {
  const level = settings.logLevel === 'info' ? 'warn' : settings.logLevel;
  return createLogger({ level, secrets: secretsOf(settings) });
}

/** Logger of a command whose result says all that went wrong. */
export function openQuietLogger(settings: Settings) {
  return createLogger({ level: settings.logLevel === 'debug' ? 'debug' : 'silent', secrets: secretsOf(settings) });
}
