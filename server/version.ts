/*
 * Two versions: that of the wire formats, as a date that changes with every visible change, and that of the package.
 */

import { readFileSync } from 'node:fs';

/** Version of the wire formats, as a date (service document 9). Changes with every visible change. */
export const API_VERSION = '2026-06-15';

/** This package's version, from package.json two folders above the compiled file. */
export const PACKAGE_VERSION = readVersion();

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const version = (manifest as { version?: unknown }).version;
  return typeof version === 'string' ? version : 'unknown';
}
