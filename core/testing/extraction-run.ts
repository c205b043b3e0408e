/*
 * Runs one sample of an extractor through match, short-link resolution and extraction, as the gateway does, with
 * recorded replies. It also defines what must hold for every result: it fits the schema, has no empty fields, and uses
 * valid names for methods and limitations. Damaged replies may cost fields or the whole result, but must not cause a
 * wrong id or an error other than a `GatewayError`.
 */

import assert from 'node:assert';
import path from 'node:path';
import { type Extraction, type HttpClient, type LinkRef, matchedLink } from '../contracts/index.js';
import { checkDocument, defaultRequestOptions } from '../extraction/index.js';
import type { GatewayError } from '../runtime/index.js';
import type { ItemIds } from './decoys.js';
import { called } from './limits.js';
import { matchText } from './match-text.js';
import { show } from './matchers.js';
import { type CallOptions, contractErrorOf, type ModelDefinition, outcomeOf, runCall } from './models/models.js';
import { createReplay, type Exchange, pluginFolder, readFixture } from './replay.js';
import type { Readable } from './runner.js';
import { extractorOf } from './setup.js';

/** A platform's part of its tests; the kit adds everything that applies to all platforms. */
export interface ExtractorDefinition extends ModelDefinition {
  /** `import.meta.url` of the test file, which is in the `test` folder of the plugin. */
  folder: string;
  /** Valid links → the id they must match to. */
  links: Readonly<Record<string, string>>;
  /** Links of other platforms, which must not match. */
  foreign: readonly string[];
  /** Links of the platform's hosts that are not items: `match` must return `{ unsupported }`. Default: none. */
  unsupported?: readonly string[];
  samples: readonly Sample[];
  /** The time of `clock.now()`. Default 2026-06-15T12:00:00Z. */
  now?: string;
  /** One item may have several canonical links, such as one for each access token. Default false. */
  severalLinks?: boolean;
}

export type Sample = FoundSample | RefusedSample;

interface AnySample {
  name: string;
  /** As a user would submit it. */
  url: string;
  /** Folder in `fixtures/`. Default: the name. */
  fixture?: string;
  /** Options of the instance for this sample, in place of the definition's. */
  options?: Readonly<Record<string, unknown>>;
}

export interface FoundSample extends AnySample {
  /** Id of the item behind the link. */
  id: string;
  /** A part of the {@link Extraction}, with values and matchers. */
  expect: Readonly<Record<string, unknown>>;
  /** Further ids with which replies refer to the item or its data, such as its counters. Default: none. */
  aliases?: readonly string[];
  /** Why the replies cannot be changed to another item. Default: they can. */
  noDecoys?: string;
}

export interface RefusedSample extends AnySample {
  /** Code of the GatewayError. */
  error: string;
  /** The platform's message. */
  reason?: RegExp;
}

export function isRefused(sample: Sample): sample is RefusedSample {
  return 'error' in sample;
}

export function isFound(sample: Sample): sample is FoundSample {
  return !isRefused(sample);
}

export interface ExtractionRun extends Readable {
  link?: LinkRef;
  extraction?: Extraction;
}

/** One sample's link through its plugin. */
export function runSample(
  definition: ExtractorDefinition,
  sample: Sample,
  http: HttpClient,
  more: Omit<CallOptions, 'http'> = {},
): Promise<ExtractionRun> {
  const { options = definition.options } = sample;
  return runCall(
    { ...definition, options },
    { http, ...more },
    (setup): ExtractionRun => ({ setup }),
    async (run, signal) => {
      const extractor = extractorOf(run.setup);
      const match = (url: URL) => called('match()', () => matchedLink(extractor.match(url)));
      run.link = await called('match()', () => matchText(extractor, sample.url));
      const { link: short } = run;
      if (short?.kind === 'short_link' && extractor.resolve) {
        const resolved = await called('resolve()', async () => extractor.resolve?.({ link: short, signal }));
        run.link = resolved && (await match(resolved));
      }
      const { link } = run;
      assert(link, `${sample.url} does not match`);
      const request = defaultRequestOptions(extractor);
      run.extraction = await called('extract()', () => extractor.extract({ link, options: request, signal }));
      // Headers are for media hosts alone.
      run.shown = run.extraction && { ...run.extraction, mediaHeaders: undefined };
    },
  );
}

export function fixtureFolder(definition: ExtractorDefinition, sample: Sample): string {
  return path.join(pluginFolder(definition.folder), 'fixtures', sample.fixture ?? sample.name);
}

export function exchangesOf(definition: ExtractorDefinition, sample: Sample): Exchange[] {
  return readFixture(fixtureFolder(definition, sample));
}

/** The GatewayError a run ended with; any other error fails the check. */
export function gatewayErrorOf(run: ExtractionRun): GatewayError | undefined {
  return contractErrorOf(run, 'extractor');
}

const FIELDS = new Set(['method', 'data', 'limitations', 'audio', 'carousel', 'partial', 'mediaHeaders']);

/** Contract violations of a result, one line each. */
export function schemaProblems(extraction: Extraction): string[] {
  const problems = Object.keys(extraction)
    .filter((name) => !FIELDS.has(name))
    .map((name) => `${name}: no such member of an extraction`);
  if (!/^[a-z0-9_]+(?:\+[a-z0-9_]+)*$/.test(extraction.method)) problems.push(`method: ${show(extraction.method)}`);
  for (const limitation of extraction.limitations ?? []) {
    if (!/^[a-z][a-z0-9_]*(?:: .+)?$/.test(limitation)) problems.push(`limitations: ${show(limitation)}`);
  }
  const checked = checkDocument(extraction.data);
  if (!checked.ok) {
    problems.push(
      ...checked.issues.map(({ path: field, message, params }) => `data.${field} ${message} ${show(params)}`),
    );
  }
  return [...problems, ...emptyFields(extraction.data, 'data')];
}

/** Fields without information; JSON has no NaN, so an invalid number would reach the client as null. */
function emptyFields(value: unknown, at: string): string[] {
  if (value === null || value === '' || Number.isNaN(value)) return [`${at}: ${String(value) || 'empty text'}`];
  if (typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, field]) => emptyFields(field, `${at}.${name}`));
}

/** Every id in a result, by field. */
export function idsOf({ data }: Extraction): Readonly<Record<string, string | undefined>> {
  return 'product' in data ? { product_id: data.product.product_id } : { ...data.ids };
}

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
