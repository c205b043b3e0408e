import assert from 'node:assert';
import type { Extraction } from '../contracts/extractor.js';
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
import { show } from './matchers.js';
import { createReplay } from './replay.js';

/** A sample's replies and what they give, before anything is done to them. */
export interface IntactSample {
  exchanges: readonly Exchange[];
  extraction: Extraction;
  /** Ids of the item itself. */
  own: readonly string[];
  /** Those, and ids of its author and of what hangs on it. */
  ids: readonly string[];
}

export async function readIntact(definition: ExtractorDefinition, sample: FoundSample): Promise<IntactSample> {
  const exchanges = exchangesOf(definition, sample);
  const { extraction, ...run } = await runSample(definition, sample, createReplay(exchanges));
  assert(extraction, `there is no result: ${outcomeOf(run)}`);
  const stated = Object.values(idsOf(extraction)).flatMap((id) => id ?? []);
  const own = [sample.id, ...(sample.aliases ?? [])];
  return { exchanges, extraction, own, ids: [...own, ...stated] };
}

/** Damage may cost members or the whole result; it must not make a wrong one, nor anything but a GatewayError. */
export function damageProblems(run: ExtractionRun, intact: IntactSample): string[] {
  gatewayErrorOf(run);
  if (!run.extraction) return [];
  const ids = idsOf(intact.extraction);
  const wrong = Object.entries(idsOf(run.extraction)).filter(
    ([name, id]) => id !== undefined && ids[name] !== undefined && id !== ids[name] && !intact.own.includes(id),
  );
  return [...schemaProblems(run.extraction), ...wrong.map(([name, id]) => `${name} became ${show(id)}`)];
}
