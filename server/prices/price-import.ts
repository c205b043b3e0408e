/*
 * Compares the prices of a catalogue with those of `PRICES_FILE`, and merges them. Each change names model and field. A
 * price that would vanish, or that is 10 times higher or lower, is suspicious: catalogues have had wrong units and
 * missing zeros. It is taken only if the operator accepts it. Models, links and fields that the catalogue does not know
 * stay as they are.
 */

import type { ModelPrices } from '../../core/contracts/index.js';
import type { PricesFile } from './prices.js';

/** One price that differs. */
export interface PriceChange {
  model: string;
  /** Dotted path in the prices of the model: `tiers.200000.input`. */
  field: string;
  before: number | null;
  after: number | null;
  /** Why it is not taken by itself. */
  suspicion?: 'missing' | '10x';
}

export interface PriceImport {
  changes: readonly PriceChange[];
  /** The new file. */
  file: PricesFile;
}

/** What is compared: a price that is 10 times another one is suspicious. */
const FACTOR = 10;

/** Fields that catalogues have; others are the operator's. */
const IMPORTED = [
  'input',
  'cachedInput',
  'cacheWrite',
  'cacheWrite1h',
  'inputAudio',
  'output',
  'outputAudio',
  'tiers',
  'serviceTiers',
  'second',
  'characters',
] as const;

/**
 * Merges prices into those of the file.
 * @param models Prices of the models to take, by the id that clients use.
 */
export function importPrices(file: PricesFile, models: Readonly<Record<string, ModelPrices>>): PriceImport {
  const changes: PriceChange[] = [];
  const merged: Record<string, ModelPrices> = { ...file.models };
  for (const [model, after] of Object.entries(models)) {
    const before = file.models?.[model];
    const [old, fresh] = [flat(before ?? {}), flat(after)];
    for (const field of new Set([...old.keys(), ...fresh.keys()])) {
      const [from, to] = [old.get(field) ?? null, fresh.get(field) ?? null];
      if (from !== to) changes.push({ model, field, before: from, after: to, ...(before && suspicionOf(from, to)) });
    }
    const own = Object.entries(before ?? {}).filter(([name]) => !IMPORTED.some((field) => field === name));
    merged[model] = { ...Object.fromEntries(own), ...after };
  }
  return { changes, file: { ...file, models: merged } };
}

/** A price that is new is none: there is nothing to compare it with. */
function suspicionOf(before: number | null, after: number | null): Pick<PriceChange, 'suspicion'> {
  if (after === null) return { suspicion: 'missing' };
  if (before === null) return {};
  const [low, high] = [Math.min(before, after), Math.max(before, after)];
  return high >= low * FACTOR ? { suspicion: '10x' } : {};
}

/** The imported prices of a model by their paths. */
function flat(prices: ModelPrices): Map<string, number> {
  const known = new Map<string, number>();
  const add = (path: string, value: unknown): void => {
    if (typeof value === 'number') known.set(path, value);
    else if (Array.isArray(value)) {
      for (const { above, ...tier } of value as { above: number }[]) add(`${path}.${above}`, tier);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) add(`${path}.${name}`, inner);
    }
  };
  for (const field of IMPORTED) add(field, prices[field]);
  return known;
}
