/*
 * Finds the models whose prices do not fit how they are billed, such as a price of tokens for a model of speech. Their
 * costs are unknown, and budgets of money refuse them. The start and `doctor` list them, so that an operator learns it
 * before a client is refused. Providers that only mock real ones need no prices.
 */

import type { Gateway } from 'mediagate';
import type { AudioOperation, ReadyModel } from '../../core/contracts/index.js';

import type { HighestUse, Prices } from './prices.js';

/** What an operation of audio uses. */
const OF_AUDIO: Readonly<Record<AudioOperation, Omit<HighestUse, 'model'>>> = {
  transcribe: { seconds: 1, inputTokens: 1, outputTokens: 1 },
  translate: { seconds: 1, inputTokens: 1, outputTokens: 1 },
  changeVoice: { seconds: 1, inputTokens: 1, outputTokens: 1 },
  speak: { characters: 1 },
  generateSound: { characters: 1 },
};

/** One line for each model without the price by which it is billed. */
export function describeUnpriced(prices: Prices, { models, plugins }: Pick<Gateway, 'models' | 'plugins'>): string[] {
  const standIns = new Set(plugins().flatMap(({ id, standIn }) => (standIn ? [id] : [])));
  const real = models().filter(({ aliasOf, entry }) => aliasOf === undefined && !standIns.has(entry));
  return real.flatMap((model) => {
    const lacks = new Set(usesOf(model).flatMap((use) => prices.missingFor({ ...use, model: model.id }) ?? []));
    if (lacks.size === 0) return [];
    const missing = [...lacks].join(' and ');
    return [`The prices have no ${missing} of ${model.id}: its costs are not known, and budgets of money refuse it.`];
  });
}

function usesOf({ kind, operations = [] }: ReadyModel): Omit<HighestUse, 'model'>[] {
  if (kind === 'image') return [{ image: {}, inputTokens: 1, outputTokens: 1 }];
  return kind === 'audio' ? operations.map((operation) => OF_AUDIO[operation]) : [{ inputTokens: 1, outputTokens: 1 }];
}
