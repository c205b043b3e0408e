import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from '../contracts/index.js';
import { withDeadline } from '../runtime/index.js';
import { describeThrown } from './plugin-failure.js';

const IMPORT_MS = 10_000;

/**
 * A plugin, or the default export of a module that is given by its path or package name.
 * @throws Error that says what is wrong with it: it throws, takes more than 10 s, or is no plugin of this version.
 */
export async function importPlugin(use: Plugin | string, baseFolder: string): Promise<Plugin> {
  const candidate = typeof use === 'string' ? await importDefault(use, baseFolder) : use;
  if (!isPlugin(candidate)) {
    throw new Error('its default export is not a plugin (name, apiVersion, summary, provides, setup)');
  }
  if (candidate.apiVersion !== 1) {
    throw new Error(`it has version ${candidate.apiVersion} of the plugin contract; this gateway needs version 1`);
  }
  return candidate;
}

async function importDefault(use: string, baseFolder: string): Promise<unknown> {
  const location = locate(use, baseFolder);
  const late = new Error(`its import did not finish within ${IMPORT_MS / 1000} s: a top-level await does not end`);
  try {
    const module: { default?: unknown } = await withDeadline(IMPORT_MS, () => import(location), { error: () => late });
    return module.default;
  } catch (thrown) {
    if (thrown === late || isLoaderError(thrown)) throw thrown;
    const message = thrown instanceof Error ? thrown.message : describeThrown(thrown);
    throw new Error(`it threw when it was imported: ${message}`, { cause: thrown });
  }
}

/** Of Node's loader; its message says what is wrong. */
function isLoaderError(thrown: unknown): boolean {
  const { code } = Object(thrown) as { code?: unknown };
  return thrown instanceof SyntaxError || /^(?:ERR_|MODULE_NOT_FOUND)/.test(String(code));
}

/**
 * The location of a module: this package's own plugins by their public name, others relative to the configuration's
 * folder.
 */
function locate(use: string, baseFolder: string): string {
  if (path.isAbsolute(use) || use.startsWith('.')) {
    const modulePath = path.resolve(baseFolder, use);
    const inFolder = path.join(modulePath, 'index.js');
    return pathToFileURL(existsSync(inFolder) ? inFolder : modulePath).href;
  }
  if (use.startsWith('mediagate/')) return use;
  return pathToFileURL(createRequire(path.join(baseFolder, 'plugins.config.json')).resolve(use)).href;
}

function isPlugin(candidate: unknown): candidate is Plugin {
  if (typeof candidate !== 'object' || candidate === null) return false;
  const plugin = candidate as Partial<Plugin>;
  return (
    typeof plugin.name === 'string' &&
    typeof plugin.apiVersion === 'number' &&
    typeof plugin.summary === 'string' &&
    Array.isArray(plugin.provides) &&
    typeof plugin.setup === 'function'
  );
}
