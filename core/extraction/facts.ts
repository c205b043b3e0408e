import { isRecord } from './scraping/index.js';

/** Overrides for a plugin's shipped facts, in the same shape. */
export type FactsOverride = Readonly<Record<string, unknown>>;

/**
 * Returns facts that a platform changes from time to time (client versions, document ids, phrases), with the overrides
 * applied; lists are replaced as a whole.
 * @throws TypeError naming a field that is unknown or of another type.
 */
export function overrideFacts<Facts extends object>(shipped: Facts, override: FactsOverride = {}): Facts {
  // Every field of the result has the type of the shipped one.
  return merge(shipped, override, 'facts') as Facts;
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
