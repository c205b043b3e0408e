import { readFileSync } from 'node:fs';

/** Date form of the wire formats' version (service document 9). Moves with every visible change. */
export const API_VERSION = '2026-06-15';

/** This package's version, from package.json two folders above the compiled file. */
export const PACKAGE_VERSION = readVersion();

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const version = (manifest as { version?: unknown }).version;
  return typeof version === 'string' ? version : 'unknown';
}
