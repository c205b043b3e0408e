/*
 * The parts of the service as the status page names them: what the gateway itself needs, the providers of models by the
 * ids of their models, and the platforms. A provider is degraded while some of its upstreams cool down after failures,
 * and down while all of them do. Mocks of one kind are one part. Names of upstreams, hosts and reasons are never shown. A
 * provider of audio says what it does, since speech and transcripts often come from two of them.
 */

import type { Gateway } from 'mediagate';
import type { AudioOperation, PluginStatus } from '../../core/contracts/index.js';
import { checkPlatforms } from '../observability/index.js';
import type { ProbeResult } from '../probes/index.js';
import { PART_STATES, type PartState } from './history.js';

/** Parts of the gateway itself. */
export type ServicePart = 'gateway' | 'database' | 'jobs' | 'files' | 'payments' | 'sign_in';

/** What a model makes, or reads. */
export type ModelKind = 'text' | 'image' | 'audio';

interface PartBase {
  /** Unique; the same in every process and after a restart. */
  id: string;
  state: PartState;
}

export type StatusPart = PartBase &
  (
    | { group: 'service'; name: ServicePart }
    | {
        group: 'model';
        models: readonly string[];
        kinds: readonly ModelKind[];
        /** What models of audio do. */
        operations: readonly AudioOperation[];
        isMock: boolean;
      }
    | { group: 'platform'; name: string; probe?: Omit<ProbeResult, 'platform'> }
  );

export interface PartSources {
  gateway: Pick<Gateway, 'plugins' | 'platforms' | 'models'>;
  /** Results of the health checks, by name. */
  checks: Readonly<Record<string, { ok: boolean }>>;
  probes: readonly ProbeResult[];
  /** Whether orders are accepted. */
  acceptsOrders: boolean;
  canSignIn: boolean;
  /** Milliseconds since 1970. */
  now: number;
}

/** What an older probe found says nothing about now. */
const PROBE_MS = 24 * 3_600_000;
/** A page stays readable, and the history small. */
const MAX_PARTS = 100;
const MODEL_KINDS: readonly ModelKind[] = ['text', 'image', 'audio'];

export function describeParts(sources: PartSources): readonly StatusPart[] {
  return [...serviceParts(sources), ...modelParts(sources.gateway), ...platformParts(sources)].slice(0, MAX_PARTS);
}

function serviceParts({ checks, acceptsOrders, canSignIn }: PartSources): StatusPart[] {
  const { database, files, data_folder: folder, cache, workers, settings_agree: agree } = checks;
  const isDown = (...some: ({ ok: boolean } | undefined)[]) => some.some((check) => check?.ok === false);
  const isDatabaseDown = isDown(database);
  const of = (name: ServicePart, state: PartState): StatusPart => ({ id: name, group: 'service', name, state });
  return [
    of('gateway', isDown(cache, workers, agree) ? 'degraded' : 'ok'),
    of('database', isDatabaseDown ? 'down' : 'ok'),
    of('jobs', isDatabaseDown ? 'down' : isDown(files, folder) ? 'degraded' : 'ok'),
    of('files', isDown(files, folder) ? 'down' : 'ok'),
    ...(acceptsOrders ? [of('payments', isDatabaseDown ? 'down' : 'ok')] : []),
    of('sign_in', isDatabaseDown || !canSignIn ? 'down' : 'ok'),
  ];
}

function modelParts(gateway: PartSources['gateway']): StatusPart[] {
  const providers = gateway
    .plugins()
    .filter(({ state, provides }) => state !== 'disabled' && MODEL_KINDS.some((kind) => provides.includes(kind)));
  const ready = gateway.models().filter(({ aliasOf }) => aliasOf === undefined);
  const absent = new Set(ready.flatMap(({ id, isAbsent }) => (isAbsent ? [id] : [])));
  const groups = Map.groupBy(providers, ({ standIn, provides, id }) =>
    standIn ? `mock:${MODEL_KINDS.filter((kind) => provides.includes(kind)).join('+')}` : `model:${id}`,
  );
  return Array.from(groups, ([id, members]): StatusPart => {
    const entries = new Set(members.map((member) => member.id));
    const ids = ready.filter(({ entry }) => entries.has(entry)).map((model) => model.id);
    const models = [...new Set(ids.length > 0 ? ids : members.flatMap(({ serves }) => serves))];
    const states = members.map((member) => stateOf(member));
    const isAbsent = models.length > 0 && models.every((model) => absent.has(model));
    return {
      id: id.startsWith('model:') ? id : `model:${id}`,
      group: 'model',
      models,
      operations: [...new Set(ready.flatMap(({ entry, operations = [] }) => (entries.has(entry) ? operations : [])))],
      kinds: MODEL_KINDS.filter((kind) => members.some(({ provides }) => provides.includes(kind))),
      isMock: members.every(({ standIn }) => standIn),
      state: isAbsent ? 'down' : worstOf(states),
    };
  }).filter((part) => part.group !== 'model' || part.models.length > 0);
}

function stateOf({ state, upstreams }: PluginStatus): PartState {
  if (state !== 'ready') return 'down';
  const cooling = upstreams.filter(({ isCoolingDown }) => isCoolingDown).length;
  if (cooling === 0) return 'ok';
  return cooling === upstreams.length ? 'down' : 'degraded';
}

export function worstOf(states: readonly PartState[]): PartState {
  return PART_STATES[Math.max(0, ...states.map((state) => PART_STATES.indexOf(state)))] ?? 'ok';
}

function platformParts({ gateway, probes, now }: PartSources): StatusPart[] {
  const platforms = gateway.platforms();
  const checked = checkPlatforms(platforms).entries;
  return platforms.map(({ key, name }) => {
    const found = probes.find(({ platform }) => platform === key);
    const fails = found !== undefined && found.failed > 0 && now - found.at <= PROBE_MS;
    const isUp = checked.find((one) => one.key === key)?.ok !== false;
    const part = { id: `platform:${key}`, group: 'platform' as const, name };
    const state = isUp ? (fails ? 'degraded' : 'ok') : 'down';
    if (!found) return { ...part, state };
    const { at, passed, failed } = found;
    return { ...part, state, probe: { at, passed, failed } };
  });
}
