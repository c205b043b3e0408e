import { type ApiKeyRecord, type Grant, type State, systemClock } from 'mediagate';
import { createKeyRecord, GRANTS } from '../keys.js';
import { openStateOf } from '../open-state.js';
import { loadPeppers } from '../secrets.js';
import type { Settings } from '../settings.js';
import { renderTable } from '../text-table.js';
import { openCommandLogger } from './command-logger.js';
import { CommandFailure, print, printJson } from './output.js';

const DEFAULT_RPM = 30;
const MAX_RPM = 1_000_000;

export interface CreateKeyOptions {
  name?: string;
  grant?: readonly string[];
  rpm?: string;
  expires?: string;
  json?: boolean;
}

/** Makes a key and prints it: the only time it is shown. */
export async function createKeyCommand(settings: Settings, options: CreateKeyOptions): Promise<number> {
  const wanted = {
    name: nameOf(options.name),
    grants: grantsOf(options.grant),
    rpm: rpmOf(options.rpm),
    expiresAt: expiryOf(options.expires),
  };
  const [pepper] = await loadPeppers(settings);
  const { key, record } = createKeyRecord(wanted, pepper, systemClock.now());
  await withState(settings, (state) => state.keys.insert(record));
  const { id, name, grants, rpm } = record;
  if (options.json) printJson({ id, key, name, grants, rpm, expires_at: isoTime(record.expiresAt) });
  else {
    print(`${key}\n`);
    process.stderr.write(`Key ${id} (${name}) may use: ${grants.join(', ')}. It is shown this once.\n`);
  }
  return 0;
}

/** Prints every key without its secret. */
export async function listKeysCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const records = await withState(settings, (state) => state.keys.list());
  if (json) printJson(records.map(describe));
  else if (records.length === 0) print('There are no keys; "mediagate keys create" makes one.\n');
  else print(`${renderTable(['ID', 'NAME', 'GRANTS', 'RPM', 'STATE', 'CREATED', 'LAST USED'], records.map(row))}\n`);
  return 0;
}

/** Revokes a key by its public id; servers follow within seconds. */
export async function revokeKeyCommand(settings: Settings, id: string, { json }: { json?: boolean }): Promise<number> {
  const revoked = await withState(settings, async (state) => {
    if (await state.keys.revoke(id, systemClock.now())) return true;
    if (!(await state.keys.find(id))) throw new CommandFailure(`There is no key with the id ${id}.`);
    return false;
  });
  if (json) printJson({ id, revoked: true });
  else print(revoked ? `Key ${id} is revoked.\n` : `Key ${id} was revoked before.\n`);
  return 0;
}

async function withState<Result>(settings: Settings, work: (state: State) => Promise<Result>): Promise<Result> {
  const logger = openCommandLogger(settings);
  try {
    const state = await openStateOf(settings, logger);
    try {
      return await work(state);
    } finally {
      await state.close();
    }
  } finally {
    await logger.close();
  }
}

function nameOf(name = 'key'): string {
  const trimmed = name.trim();
  if (trimmed === '' || trimmed.length > 100) throw new CommandFailure('--name must have 1 to 100 characters.', 2);
  return trimmed;
}

function grantsOf(names: readonly string[] = ['extract']): Grant[] {
  const known = GRANTS.filter((grant) => names.includes(grant));
  const unknown = names.find((name) => !GRANTS.some((grant) => grant === name));
  if (unknown !== undefined)
    throw new CommandFailure(`--grant ${unknown} is not known; there are ${GRANTS.join(', ')}.`, 2);
  return known;
}

function rpmOf(text = String(DEFAULT_RPM)): number | null {
  if (text === 'unlimited') return null;
  const value = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= MAX_RPM) return value;
  throw new CommandFailure(`--rpm must be a whole number from 0 to ${MAX_RPM}, or unlimited.`, 2);
}

function expiryOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  // Only ISO 8601: everything else that Date.parse takes depends on who reads it.
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(time))
    throw new CommandFailure('--expires must be a date such as 2030-12-31 or 2030-12-31T12:00:00Z.', 2);
  if (time <= systemClock.now()) throw new CommandFailure('--expires lies in the past.', 2);
  return time;
}

function isoTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRecord): string {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= systemClock.now()) return 'expired';
  return 'good';
}

function describe(record: ApiKeyRecord) {
  const { id, name, grants, rpm, createdAt, expiresAt, revokedAt, lastUsedAt } = record;
  return {
    id,
    name,
    grants,
    rpm,
    state: stateOf(record),
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt),
    revoked_at: isoTime(revokedAt),
    last_used_at: isoTime(lastUsedAt),
  };
}

function row(record: ApiKeyRecord): string[] {
  const { id, name, grants, rpm, createdAt, lastUsedAt } = record;
  const used = isoTime(lastUsedAt) ?? 'never';
  return [
    id,
    name,
    grants.join(','),
    rpm === null ? 'unlimited' : String(rpm),
    stateOf(record),
    isoTime(createdAt) ?? '',
    used,
  ];
}
