import type { Kysely, Script } from '../database/index.js';
import { GatewayError } from '../runtime/index.js';
import {
  hashKey,
  type IdempotencyKeys,
  type JobKeyRow,
  type KeyHash,
  keyReused,
} from '../state/idempotency/idempotency-keys.js';
import { countUse, dayOf, readUsed } from '../state/limits/daily-quotas.js';
import { openWindows } from '../state/limits/open-windows.js';
import type { SlotTable } from '../state/limits/slots.js';
import type { JobOwnersTable, Tables } from '../state/schema.js';
import type { JobClock } from './job-clock.js';
import { newJobId } from './job-kinds.js';
import { hashText, type ShownRow, toJobRecord, toJson } from './job-rows.js';
import { type JobTable, NEW_JOB, type NewJobRow, NOT_JOINED } from './job-table.js';
import { openTurns, type TurnStatements } from './job-turns.js';
import type { Acceptance, Accepted, JobKind } from './jobs.js';
import { queueFull } from './queue-full.js';

/** An acceptance as it is stored. */
export interface Candidate extends Acceptance {
  /** False only asks. */
  take: boolean;
  /** JSON. */
  summary: string;
  input: string;
  /** Of the span that accepts. */
  traceparent?: string;
  dedupeHash?: string;
  keyHash?: KeyHash;
}

export function toCandidate(acceptance: Acceptance, take: boolean, traceparent?: string): Candidate {
  const { slot, idempotency, quota, job } = acceptance;
  return {
    ...{ slot, idempotency, quota, job, take, traceparent },
    summary: toJson(job.summary),
    input: toJson(job.input),
    dedupeHash: job.dedupeKey === undefined ? undefined : hashText(job.dedupeKey),
    keyHash: idempotency && hashKey(idempotency),
  };
}

export interface AcceptanceOptions {
  /** Only compiles them. */
  queries: Kysely<Tables>;
  kind: JobKind;
  table: JobTable;
  turnStatements: TurnStatements;
  idempotencyKeys: IdempotencyKeys;
  slots: SlotTable;
  clock: JobClock;
}

/**
 * Judges candidates of one kind one after the other, each knowing what those before it took; reads what all of them need
 * first and writes what all of them change last. Nothing is written of those that are refused.
 */
export function* acceptGroup(
  candidates: readonly Candidate[],
  { queries, kind, table, turnStatements, idempotencyKeys, slots, clock }: AcceptanceOptions,
): Script<(Accepted | GatewayError)[]> {
  yield* table.lockKind(kind);
  const at = yield* clock.look();
  const day = dayOf(at);
  let active = yield* table.countActive(kind);
  const keyHashes = candidates.flatMap(({ keyHash }) => (keyHash?.replay ? [keyHash.hash] : []));
  const remembered = yield* idempotencyKeys.find(keyHashes, at);
  const dedupeHashes = candidates.flatMap(({ dedupeHash }) => (dedupeHash === undefined ? [] : [dedupeHash]));
  const joinable = yield* table.findJoinable(kind, dedupeHashes);
  const accounts = candidates.flatMap(({ quota, job }) => (quota ? [job.accountId] : []));
  const used = yield* readUsed(queries, kind, day, accounts);
  const isKnown = ({ keyHash }: Candidate) => keyHash?.replay === true && remembered.has(keyHash.hash);
  const fresh = candidates.filter((candidate) => !isKnown(candidate));
  const turns = yield* openTurns(
    turnStatements,
    fresh.map(({ job }) => job.keyId ?? ''),
  );
  const windows = yield* openWindows(
    slots,
    fresh.map(({ slot }) => slot),
  );

  const rows: NewJobRow[] = [];
  const owners: JobOwnersTable[] = [];
  const keys = new Map<string, JobKeyRow>();

  function* judge(candidate: Candidate): Script<Accepted | GatewayError> {
    const { take, slot, quota, job, keyHash, dedupeHash } = candidate;
    const known = keyHash?.replay ? remembered.get(keyHash.hash) : undefined;
    if (known) {
      if (known.fingerprint !== keyHash?.fingerprint) return keyReused();
      return { job: toJobRecord(known.job), replayed: true, active };
    }
    const window = slot && windows.of(slot);
    if (slot && window && !window.has(slot)) return { slot: yield* window.look(slot), replayed: false, active };
    const joined = dedupeHash === undefined ? undefined : joinable.get(dedupeHash);
    const usedToday = used.get(job.accountId) ?? 0;
    if (!joined && quota && usedToday >= quota.limit) return quotaUsedUp(quota.limit);
    if (!joined && active >= job.maxActive) return queueFull();
    if (!take) return { ...(slot && window && { slot: yield* window.look(slot) }), replayed: false, active };

    const taken = slot && window?.take(slot);
    const row: ShownRow = joined ?? write(candidate);
    if (!joined && quota) used.set(job.accountId, usedToday + 1);
    if (!joined) active += 1;
    if (dedupeHash !== undefined) joinable.set(dedupeHash, row);
    if (joined) owners.push({ job_id: row.id, account_id: job.accountId });
    if (keyHash) {
      const { hash, fingerprint, keptMs } = keyHash;
      keys.set(hash, { hash, fingerprint, job_id: row.id, expires_at: at + keptMs });
      remembered.set(hash, { fingerprint, job: row });
    }
    return { ...(taken && { slot: taken }), job: toJobRecord(row), replayed: false, active };
  }

  function write({ job, quota, summary, input, dedupeHash, traceparent }: Candidate): NewJobRow {
    const id = newJobId(kind, at);
    const keyId = job.keyId ?? '';
    const row: NewJobRow = {
      ...NEW_JOB,
      id,
      kind,
      dedupe_hash: dedupeHash ?? NOT_JOINED,
      place: turns.next(keyId),
      summary,
      input,
      key_id: keyId,
      account_id: job.accountId,
      quota_day: quota ? day : null,
      created_at: at,
      request_id: job.requestId ?? null,
      traceparent: traceparent ?? null,
      webhook_url: job.webhookUrl ?? null,
    };
    rows.push(row);
    return row;
  }

  const verdicts: (Accepted | GatewayError)[] = [];
  for (const candidate of candidates) verdicts.push(yield* judge(candidate));

  yield* windows.save();
  yield* table.insert(kind, rows);
  yield* table.addOwners(owners);
  yield* idempotencyKeys.remember([...keys.values()]);
  const taken = rows.flatMap(({ account_id, quota_day }) => (quota_day === null ? [] : [{ account_id, kind, day }]));
  yield* countUse(queries, taken, 1);
  return verdicts;
}

function quotaUsedUp(limit: number): GatewayError {
  return new GatewayError('daily_image_limit_reached', `This account may make ${limit} images a day (UTC).`);
}
