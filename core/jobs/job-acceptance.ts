import type { JobClock, Script } from '../database/index.js';
import { GatewayError } from '../runtime/index.js';
import type { AdmissionCandidate, AdmissionHooks } from './admission.js';
import { newJobId } from './job-kinds.js';
import { hashText, type ShownRow, toJobRecord, toJson } from './job-rows.js';
import { type JobTable, NEW_JOB, type NewJobRow, NOT_JOINED } from './job-table.js';
import { openTurns, type TurnStatements } from './job-turns.js';
import type { Acceptance, Accepted, JobKind, NewJob } from './jobs.js';
import type { JobOwnersTable } from './tables.js';

/** An acceptance as it is stored. */
export interface Candidate extends AdmissionCandidate {
  job: NewJob;
  /** JSON. */
  summary: string;
  input: string;
  /** Of the span that accepts. */
  traceparent?: string;
  dedupeHash?: string;
}

export function toCandidate({ terms, job }: Acceptance, take: boolean, traceparent?: string): Candidate {
  return {
    ...{ owner: job.owner, terms, job, take, traceparent },
    summary: toJson(job.summary),
    input: toJson(job.input),
    dedupeHash: job.dedupeKey === undefined ? undefined : hashText(job.dedupeKey),
  };
}

export interface AcceptanceOptions {
  kind: JobKind;
  table: JobTable;
  turnStatements: TurnStatements;
  hooks: AdmissionHooks;
  clock: JobClock;
}

/**
 * Has candidates of one kind judged one after the other; reads what all of them need first and writes what all of them change
 * last. Nothing is written of those that are refused.
 */
export function* acceptGroup(
  candidates: readonly Candidate[],
  { kind, table, turnStatements, hooks, clock }: AcceptanceOptions,
): Script<(Accepted | GatewayError)[]> {
  yield* table.lockKind(kind);
  const at = yield* clock.look();
  let active = yield* table.countActive(kind);
  const admissions = yield* hooks.open(candidates, at);
  const replays = candidates.map((candidate) => admissions.replayOf(candidate));
  const known = yield* table.findAny(replays.filter((id) => id !== undefined));
  const dedupeHashes = candidates.flatMap(({ dedupeHash }) => (dedupeHash === undefined ? [] : [dedupeHash]));
  const joinable = yield* table.findJoinable(kind, dedupeHashes);
  const fresh = candidates.filter((_candidate, index) => replays[index] === undefined);
  const turns = yield* openTurns(
    turnStatements,
    fresh.map(({ job }) => job.keyId ?? ''),
  );

  const rows: NewJobRow[] = [];
  const owners: JobOwnersTable[] = [];

  function* judge(candidate: Candidate): Script<Accepted | GatewayError> {
    const { take, job, dedupeHash } = candidate;
    const joined = dedupeHash === undefined ? undefined : joinable.get(dedupeHash);
    const jobId = joined?.id ?? newJobId(kind, at);
    const full = !joined && active >= job.maxActive;
    const verdict = admissions.judge(candidate, { jobId, joined: joined !== undefined, full });
    if (verdict.outcome === 'refuse') return verdict.error;
    if (verdict.outcome === 'replay') {
      const row = known.get(verdict.jobId);
      return row ? { job: toJobRecord(row), replayed: true, active } : jobGone();
    }
    if (verdict.outcome === 'rateLimited') {
      return { answer: yield* verdict.answer(), rateLimited: true, replayed: false, active };
    }
    const answer = verdict.answer === undefined ? {} : { answer: verdict.answer };
    if (!take) return { ...answer, replayed: false, active };

    const row: ShownRow = joined ?? write(candidate, jobId, verdict.admission ?? null);
    if (joined) owners.push({ job_id: row.id, account_id: job.owner });
    else active += 1;
    if (dedupeHash !== undefined) joinable.set(dedupeHash, row);
    known.set(jobId, row);
    return { ...answer, job: toJobRecord(row), replayed: false, active };
  }

  function write(candidate: Candidate, id: string, admission: string | null): NewJobRow {
    const { job, summary, input, dedupeHash, traceparent } = candidate;
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
      account_id: job.owner,
      admission,
      created_at: at,
      request_id: job.requestId ?? null,
      traceparent: traceparent ?? null,
      webhook_url: job.webhookUrl ?? null,
    };
    rows.push(row);
    return row;
  }

  const answers: (Accepted | GatewayError)[] = [];
  for (const candidate of candidates) answers.push(yield* judge(candidate));

  yield* table.insert(kind, rows);
  yield* table.addOwners(owners);
  yield* admissions.save();
  return answers;
}

function jobGone(): GatewayError {
  return new GatewayError('job_not_found', 'The job of the earlier request is not there any more.');
}
