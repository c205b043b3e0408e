import { isRecord } from './scraping/index.js';

/** A plugin instance's own values for members of the shipped site configuration, in the same shape. */
export type SiteConfigOverride = Readonly<Record<string, unknown>>;

/**
 * Returns what a platform changes from time to time (client versions, document ids, phrases): the shipped values, with
 * those of a plugin instance in place of theirs. Lists are replaced as a whole.
 * @throws TypeError naming a member that is unknown or of another type; never its value.
 */
export function loadSiteConfig<Config extends object>(shipped: Config, override: SiteConfigOverride = {}): Config {
  // Every member of the result has the type of the shipped one.
  return merge(shipped, override, 'siteConfig') as Config;
}

function merge(base: unknown, override: unknown, path: string): unknown {
  if (!isRecord(base)) {
    if (kindOf(base) !== kindOf(override)) throw new TypeError(`${path} must be a ${kindOf(base)}`);
    return override;
  }
  if (!isRecord(override)) throw new TypeError(`${path} must be an object`);
  const merged: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(override)) {
    if (!Object.hasOwn(base, name)) throw new TypeError(`${path} has no member "${name}"`);
    merged[name] = merge(base[name], value, `${path}.${name}`);
  }
  return merged;
}

function kindOf(value: unknown): string {
  if (!Array.isArray(value)) return typeof value;
  return `list of ${value.length > 0 ? `${typeof value[0]}s` : 'values'}`;
}
