/*
 * The live probe calls every method of every platform with a link, over the real network, and compares the results with
 * what each link is expected to give. Only a failure of a method that is expected to work sets exit code 1. Platforms
 * run at the same time, but the links and methods of one platform one after the other, with pauses, as platforms block
 * fast clients. Then it reads the document of each link and asks for its media files (`probe-media.ts`). Links come from
 * the plugins or from a file. The results are stored for the health and the metrics of servers on the same state.
 */

import { readFile } from 'node:fs/promises';
import type { Gateway } from 'mediagate';
import { type PlatformInfo, type ProbeLink, Type } from '../../../core/contracts/index.js';
import { createValidator, type GatewayError, isGatewayError, systemClock } from '../../../core/runtime/index.js';
import { isStateThere } from '../../backup/index.js';
import { isoTime, renderTable } from '../../format/index.js';
import type { Settings } from '../../settings/index.js';
import { startSpinner, withGateway, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandMistake } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { probe } from './gateway-commands.js';
import { type MediaTrial, renderMedia, tryMedia } from './probe-media.js';

type ProbeOptions = OptionsOf<typeof probe>;

/**
 * The live probe: calls every method of every platform with a link, over the real network. Exit code 1 if an expected
 * method fails.
 */
export async function probeCommand(settings: Settings, options: ProbeOptions): Promise<Outcome<'Probe'>> {
  const work = async (gateway: Gateway) => {
    const targets = await chooseTargets(gateway, options);
    return { targets, ...(await tryAll(gateway, targets)) };
  };
  const { targets, methods, media } = await withGateway(settings, work, { quiet: true });
  const at = systemClock.now();
  const stored = await store(settings, at, [...methods, ...media]);
  const exitCode = [...methods, ...media].some(({ level }) => level === 'fail') ? 1 : 0;
  return {
    json: { at: isoTime(at), stored: stored === undefined, methods, media },
    text: `${render(targets, methods)}\n\n${renderMedia(media)}`,
    remarks: [stored ?? 'The results are stored for /health and the metrics.'],
    exitCode,
  };
}

/** Stores the results for the servers on this state. @returns Why they are not stored. */
async function store(
  settings: Settings,
  at: number,
  trials: readonly Pick<MethodTrial, 'platform' | 'level'>[],
): Promise<string | undefined> {
  const results = Object.entries(Object.groupBy(trials, ({ platform }) => platform)).map(([platform, own = []]) => ({
    platform,
    at,
    passed: own.filter(({ level }) => level === 'ok').length,
    failed: own.filter(({ level }) => level === 'fail').length,
  }));
  try {
    if (!(await isStateThere(settings))) return 'The results are not stored: there is no database yet.';
    await withState(settings, ({ probes }) => probes.record(results));
    return undefined;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return `The results are not stored: ${error.message}`;
  }
}

interface Tried {
  methods: readonly MethodTrial[];
  media: readonly MediaTrial[];
}

/** Concurrent platforms; the links of one platform one after the other. */
async function tryAll(gateway: Gateway, targets: readonly ProbeTarget[]): Promise<Tried> {
  const spinner = startSpinner('asking');
  const busy = new Map<string, string>();
  const ofPlatforms = Object.values(Object.groupBy(targets, ({ platform }) => platform.key)).map(async (list = []) => {
    const tried = { methods: [] as MethodTrial[], media: [] as MediaTrial[] };
    for (const target of list) {
      const { platform, url, fills } = target;
      const { key } = platform;
      const onMethod = (method: string) => {
        busy.set(key, `${key}: ${method}`);
        spinner?.update([...busy.values()].join('   '));
      };
      tried.methods.push(...(await tryMethods(gateway, target, onMethod)));
      onMethod('media');
      const isExpected = Object.keys(fills).length > 0;
      tried.media.push(...(await tryMedia(gateway, { platform: key, url, isExpected })));
      busy.delete(key);
    }
    return tried;
  });
  try {
    const all = await Promise.all(ofPlatforms);
    return { methods: all.flatMap(({ methods }) => methods), media: all.flatMap(({ media }) => media) };
  } finally {
    spinner?.stop();
  }
}

function render(targets: readonly ProbeTarget[], trials: readonly MethodTrial[]): string {
  const rows = trials.map(({ level, platform, method, outcome, ms, filled, missing, reason }) => [
    level,
    platform,
    method,
    outcome,
    level === 'skip' ? '' : String(ms),
    outcome === 'ok' ? String(filled.length) : '',
    missing.length > 0 ? `missing ${missing.join(', ')}` : (reason ?? ''),
  ]);
  const table = renderTable(['', 'PLATFORM', 'METHOD', 'OUTCOME', 'MS', 'FIELDS', ''], rows);
  const asked = targets.map(({ platform, url }) => `${platform.key.padEnd(12)}  ${url}`).join('\n');
  const failed = trials.filter(({ level }) => level === 'fail');
  const summary =
    failed.length === 0
      ? 'All methods that should answer do.'
      : failed.length === 1
        ? `1 of ${trials.length} methods does not fill what it should.`
        : `${failed.length} of ${trials.length} methods do not fill what they should.`;
  return `${asked}\n\n${table}\n\n${summary}`;
}

const LinksFile = createValidator(
  Type.Array(
    Type.Object(
      {
        url: Type.String(),
        fills: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
      },
      { additionalProperties: false },
    ),
    { minItems: 1 },
  ),
);

/** One link to try, and the expected results of its platform's methods; see `ProbeLink`. */
interface ProbeTarget {
  platform: PlatformInfo;
  url: string;
  fills: ProbeLink['fills'];
}

/**
 * The links to try. A link of a file without expectations uses those of its platform's own link.
 * @throws CommandMistake if the platform does not exist, or the file or a link in it is invalid.
 */
async function chooseTargets(gateway: Gateway, { platform, links: file }: ProbeOptions): Promise<ProbeTarget[]> {
  const platforms = gateway.platforms();
  const wanted = platforms.filter(({ key }) => platform === undefined || key === platform);
  if (wanted.length === 0) {
    const keys = platforms.map(({ key }) => key).join(', ') || 'none; see "mediagate plugins"';
    throw new CommandMistake(`No platform ${platform ? `"${platform}" ` : ''}is ready. Ready: ${keys}.`);
  }
  const targets =
    file === undefined
      ? wanted.flatMap((one) => one.probeLinks.map((link) => ({ platform: one, ...link })))
      : (await readLinks(file)).flatMap(({ url, fills }) => {
          const key = platformOf(gateway, url, file);
          const one = wanted.find((candidate) => candidate.key === key);
          return one ? [{ platform: one, url, fills: fills ?? one.probeLinks[0]?.fills ?? {} }] : [];
        });
  if (targets.length === 0) throw new CommandMistake('There is no link to try. Name a file of links with --links.');
  return targets;
}

function platformOf(gateway: Gateway, url: string, file: string): string {
  try {
    return gateway.match(url).platform;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    throw new CommandMistake(`${file} has ${url}, which cannot be tried: ${error.message}`);
  }
}

async function readLinks(file: string) {
  const checked = LinksFile.check(await readJson(file));
  if (checked.ok) return checked.value;
  const issue = checked.issues[0];
  throw new CommandMistake(`${file} is not a list of links: ${issue?.path || 'it'} ${issue?.message}`);
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new CommandMistake(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The result of one method with one link. */
interface MethodTrial {
  platform: string;
  url: string;
  method: string;
  /**
   * `ok`: it returned the expected fields. `fail`: it did not. `info`: nothing is expected of it. `skip`: this gateway
   * lacks what it needs, so it was not called.
   */
  level: 'ok' | 'fail' | 'info' | 'skip';
  /** `ok`, `skipped`, `not set up`, or the error code. */
  outcome: string;
  /** Whole milliseconds. */
  ms: number;
  /** Fields of the document that it filled, dotted. */
  filled: readonly string[];
  /** Expected fields that it did not fill. */
  missing: readonly string[];
  /** The platform's message, or ours, if it failed. */
  reason?: string;
}

/** Calls every method of the link's platform separately, one after the other, with pauses. */
async function tryMethods(
  gateway: Gateway,
  { platform, url, fills }: ProbeTarget,
  onMethod: (method: string) => void,
): Promise<MethodTrial[]> {
  const trials: MethodTrial[] = [];
  for (const { name, available } of platform.methods) {
    const usual = fills[name];
    const trial = { platform: platform.key, url, method: name };
    if (!available) {
      trials.push({ ...trial, level: 'skip', outcome: 'not set up', ms: 0, filled: [], missing: [] });
      continue;
    }
    onMethod(name);
    const { outcome, ms, filled, reason } = await tryMethod(gateway, url, name);
    const missing = outcome === 'ok' ? (usual ?? []).filter((field) => !filled.includes(field)) : [];
    const isComplete = outcome === 'ok' && missing.length === 0;
    const level = usual === undefined ? 'info' : isComplete ? 'ok' : 'fail';
    trials.push({ ...trial, level, outcome, ms, filled, missing, ...(reason !== undefined && { reason }) });
  }
  return trials;
}

type Answer = Pick<MethodTrial, 'outcome' | 'ms' | 'filled' | 'reason'>;

async function tryMethod(gateway: Gateway, url: string, only: string): Promise<Answer> {
  const began = systemClock.monotonic();
  const ms = () => Math.round(systemClock.monotonic() - began);
  try {
    const { data } = await gateway.extract({ url, only });
    return { outcome: 'ok', ms: ms(), filled: Object.keys(data.provenance?.sources ?? {}).sort() };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const outcome = outcomeOf(error, only);
    const reason = outcome === 'skipped' ? 'not applicable to this link' : (error.reason ?? error.message);
    return { outcome, ms: ms(), filled: [], reason };
  }
}

/**
 * The attempt's outcome is more precise than the error of the whole extraction; an answer without data is a failure.
 */
function outcomeOf({ attempts, code }: GatewayError, method: string): string {
  const outcome = attempts?.find((attempt) => attempt.method === method)?.outcome ?? 'ok';
  return outcome === 'ok' ? code : outcome;
}
