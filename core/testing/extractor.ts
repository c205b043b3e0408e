import assert from 'node:assert';
import path from 'node:path';
import { inspect } from 'node:util';
import {
  type Clock,
  type Extraction,
  type Extractor,
  type HttpClient,
  type LinkRef,
  matchedLink,
  type Plugin,
} from '../contracts/index.js';
import { checkDocument, defaultRequestOptions } from '../extraction/index.js';
import { CONTRIBUTION_CODES } from '../plugins/index.js';
import { type GatewayError, isGatewayError } from '../runtime/index.js';
import { createFakeHttp } from './fakes.js';
import { linkChecks } from './links.js';
import { show } from './matchers.js';
import { type Exchange, pluginFolder, readFixture } from './replay.js';
import { type Check, describeChecks, leakedSecrets, reportAll } from './runner.js';
import { faultChecks, sampleChecks } from './samples.js';
import { extractorOf, setUpPlugin, type TestSetup } from './setup.js';

/** A platform's part of its tests; the kit adds everything that applies to all platforms. */
export interface ExtractorDefinition {
  plugin: Plugin;
  /** `import.meta.url` of the test file, which is in the `test` folder of the plugin. */
  folder: string;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Valid links → the id they must match to. */
  links: Readonly<Record<string, string>>;
  /** Links of other platforms, which must not match. */
  foreign: readonly string[];
  /** Links of the platform's hosts that are not items: `match` must return `{ unsupported }`. Default: none. */
  unsupported?: readonly string[];
  samples: readonly Sample[];
  /** Texts that must not appear in results, errors and logs: the values of secret options. Default: none. */
  secrets?: readonly string[];
  /** The time of `clock.now()`. Default 2026-06-15T12:00:00Z. */
  now?: string;
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

/** Checks that every extractor must pass, with the platform's own links and samples. */
export function extractorChecks(definition: ExtractorDefinition): Check[] {
  let extractor: Promise<Extractor> | undefined;
  const whole = () => {
    const { plugin, options, now } = definition;
    extractor ??= setUpPlugin({ plugin, options, now, http: createFakeHttp([{ fail: 'connection' }]) }).then(
      extractorOf,
    );
    return extractor;
  };
  const found = definition.samples.filter(isFound);
  return [
    {
      name: 'names its platform',
      async run() {
        const { platform, displayName, linkForms, audio, resolveAudio } = await whole();
        reportAll([
          ...(platform === definition.plugin.name ? [] : [`the platform is "${platform}"`]),
          ...(displayName.trim() ? [] : ['there is no display name']),
          ...(linkForms.length > 0 ? [] : ['there are no link forms']),
          ...(audio === true && !resolveAudio ? ['audio is offered, and there is no resolveAudio'] : []),
          ...(found.length > 0 ? [] : ['no sample shows an item that is found']),
        ]);
      },
    },
    ...linkChecks(definition, whole),
    ...definition.samples.flatMap((sample) => sampleChecks(definition, sample)),
    ...found.slice(0, 1).flatMap((sample) => faultChecks(definition, sample)),
  ];
}

/** Registers {@link extractorChecks} with the test runner's global `describe` and `it`. */
export function describeExtractor(definition: ExtractorDefinition): void {
  describeChecks(`extractor ${definition.plugin.name}`, extractorChecks(definition));
}

export interface ExtractionRun {
  setup: TestSetup;
  link?: LinkRef;
  extraction?: Extraction;
  error?: unknown;
}

export interface RunOptions {
  /** The caller's signal. Default: one that never aborts. */
  signal?: AbortSignal;
  /** Clock for waiting. Default: real time. */
  waiting?: Pick<Clock, 'monotonic' | 'sleep'>;
}

/** One sample's link through a plugin that was set up for it alone: without cool-downs or caches of another run. */
export async function runSample(
  definition: ExtractorDefinition,
  sample: Sample,
  http: HttpClient,
  { signal = new AbortController().signal, waiting }: RunOptions = {},
): Promise<ExtractionRun> {
  const options = sample.options ?? definition.options;
  const setup = await setUpPlugin({ plugin: definition.plugin, http, options, now: definition.now, waiting });
  const extractor = extractorOf(setup);
  const run: ExtractionRun = { setup };
  try {
    run.link = matchedLink(extractor.match(new URL(sample.url)));
    if (run.link?.kind === 'short_link' && extractor.resolve) {
      run.link = matchedLink(extractor.match(await extractor.resolve({ link: run.link, signal })));
    }
    assert(run.link, `${sample.url} does not match`);
    run.extraction = await extractor.extract({
      link: run.link,
      options: defaultRequestOptions(extractor),
      signal,
    });
  } catch (error) {
    run.error = error;
  }
  await setup.contributions.dispose?.();
  return run;
}

export function fixtureFolder(definition: ExtractorDefinition, sample: Sample): string {
  return path.join(pluginFolder(definition.folder), 'fixtures', sample.fixture ?? sample.name);
}

export function exchangesOf(definition: ExtractorDefinition, sample: Sample): Exchange[] {
  return readFixture(fixtureFolder(definition, sample));
}

/** The GatewayError a run ended with; any other error fails the check. */
export function gatewayErrorOf(run: ExtractionRun): GatewayError | undefined {
  if (isGatewayError(run.error) && !CONTRIBUTION_CODES.extractor.has(run.error.code)) {
    throw new assert.AssertionError({ message: `threw ${run.error.code}, which is no code of an extractor` });
  }
  if (run.error === undefined || isGatewayError(run.error)) return run.error;
  throw new assert.AssertionError({ message: `threw something else than a GatewayError: ${inspect(run.error)}` });
}

const FIELDS = new Set(['method', 'data', 'limitations', 'audio', 'partial']);

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

/** Secrets that appear in what others may read of a run. */
export function leaks(definition: ExtractorDefinition, { extraction, error, setup }: ExtractionRun): string[] {
  return leakedSecrets(definition.secrets ?? [], [extraction, error, setup.logs]);
}

export function outcomeOf({ extraction, error }: ExtractionRun): string {
  if (extraction) return 'a result';
  const code = error && typeof error === 'object' && 'code' in error ? `${error.code}: ` : '';
  return `${code}${error instanceof Error ? error.message : String(error)}`;
}
