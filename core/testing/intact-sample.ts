import assert from 'node:assert';
import type { Extraction } from '../contracts/index.js';
import {
  type ExtractionRun,
  exchangesOf,
  gatewayErrorOf,
  idsOf,
  outcomeOf,
  runSample,
  schemaProblems,
} from './extraction-run.js';
import type { ExtractorDefinition, FoundSample } from './extractor-definition.js';
import type { Exchange } from './fixtures.js';
import type { ItemIds } from './foreign-items.js';
import { show } from './matchers.js';
import { createReplay } from './replay.js';

/** A sample's replies and their result, before any change. */
export interface IntactSample {
  exchanges: readonly Exchange[];
  extraction: Extraction;
  /** The ids with which the link or the sample identifies the item. */
  own: ItemIds;
  /** Those, and the ids of the result. */
  itemIds: ItemIds;
  /** Those, and the ids of its author. */
  ids: readonly string[];
}

export async function readIntact(definition: ExtractorDefinition, sample: FoundSample): Promise<IntactSample> {
  const exchanges = exchangesOf(definition, sample);
  const { extraction, ...run } = await runSample(definition, sample, createReplay(exchanges));
  assert(extraction, `there is no result: ${outcomeOf(run)}`);
  const own: ItemIds = [sample.id, ...(sample.aliases ?? [])];
  const { author_id, channel_id, canonical_url: _address, ...stated } = idsOf(extraction);
  const itemIds: ItemIds = [...own, ...present(Object.values(stated))];
  return { exchanges, extraction, own, itemIds, ids: [...itemIds, ...present([author_id, channel_id])] };
}

function present(ids: readonly (string | undefined)[]): string[] {
  return ids.filter((id) => id !== undefined);
}

/** Damage may cost fields or the whole result; it must not cause a wrong one, or an error other than a GatewayError. */
export function damageProblems(run: ExtractionRun, intact: IntactSample): string[] {
  gatewayErrorOf(run);
  if (!run.extraction) return [];
  const ids = idsOf(intact.extraction);
  const wrong = Object.entries(idsOf(run.extraction)).filter(
    ([name, id]) => id !== undefined && ids[name] !== undefined && id !== ids[name] && !intact.own.includes(id),
  );
  return [...schemaProblems(run.extraction), ...wrong.map(([name, id]) => `${name} became ${show(id)}`)];
}
