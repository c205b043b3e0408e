/*
 * The tables of usage. The usage log has one row for each request of a key, refused ones included; totals have one row
 * for each key, day, account, route and model; job charges have one row for each job and remain after it. Reservations
 * and background responses are open work: the transaction that finishes one deletes its row, so it happens once. Costs
 * are whole millionths of one currency, which is stored in a table of its own. The index of failures is partial: a
 * request that succeeds costs nothing there.
 */

import { type Migrations, sqlMigration } from '../../core/database/index.js';
import type { JobKind } from '../../core/jobs/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    job_charges: JobChargesTable;
    reservations: ReservationsTable;
    usage_entries: UsageEntriesTable;
    usage_totals: UsageTotal;
    usage_overflow: UsageOverflowTable;
    usage_days: UsageDaysTable;
    usage_today: UsageTodayTable;
    background_responses: BackgroundResponsesTable;
    usage_currency: UsageCurrencyTable;
    request_inputs: RequestInputsTable;
    request_input_settings: RequestInputSettingsTable;
  }
}

/** The cost of completed jobs: one row each, which outlives the job. */
export interface JobChargesTable {
  jobId: string;
  kind: JobKind;
  accountId: string;
  keyId: string;
  model: string;
  units: number;
  /** JSON. */
  usage: string | null;
  /** Millionths of the currency; null without a known price. */
  cost: number | null;
  at: number;
}

/**
 * Running requests that hold a part of budgets. The transaction that settles one deletes the row, so it happens once.
 */
export interface ReservationsTable {
  id: string;
  /** JSON: the id of each budget, and its period when the request was counted; null if it is none to a model. */
  budgets: string;
  keyId: string;
  accountId: string;
  route: string;
  model: string;
  tokens: number;
  /** Money in micro units. */
  cost: number;
  /** Its part that is charged if the process dies: the input alone. */
  inputTokens: number;
  inputCost: number;
  /** Id of the process that holds it; see heartbeat.ts. */
  processId: string;
  at: number;
}

/** The columns of what requests use, in entries and totals. Seconds are those of audio. */
export const COUNTS = [
  'inputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'characters',
  'seconds',
  'images',
] as const;

/** The columns that totals sum up. */
export const TOTAL_COUNTS = [
  'requests',
  'failed',
  'estimated',
  ...COUNTS,
  'priced',
  'cost',
  'latencyMsSum',
  'bytes',
  'refused',
] as const;

/** What requests used. With null: what is not known or does not apply. */
export type Counts<Unknown = never> = Record<(typeof COUNTS)[number], number | Unknown>;

/** One row per request; a batch has one for each of its links. */
export interface UsageEntriesTable extends Counts<null> {
  keyId: string;
  at: number;
  requestId: string;
  accountId: string;
  route: string;
  model: string;
  status: number;
  latencyMs: number;
  /** 1 or 0. */
  estimated: number;
  /** Millionths of the currency, by the price at its end; null without a known price. */
  cost: number | null;
  /** Why it failed, or its stream broke off; null if it succeeded. */
  errorCode: string | null;
  /** 1 if it was refused before any work, 0 otherwise. */
  refused: number;
}

/** Usage of one key, route, model and UTC day. */
export interface UsageTotal extends Counts {
  /** `2026-06-15`. */
  day: string;
  keyId: string;
  accountId: string;
  route: string;
  model: string;
  requests: number;
  /** Number of these with a status of 400 or more, or whose stream broke off. */
  failed: number;
  /** Number of these with an estimated usage. */
  estimated: number;
  /** Number of these with a known price. */
  priced: number;
  /** Millionths of the currency; those without a known price are left out. */
  cost: number;
  latencyMsSum: number;
  /** That media links sent. */
  bytes: number;
  /** Requests that were refused before any work: not among `requests`. */
  refused: number;
}

/** Sums of all keys of a day that has ended; see usage-days.ts. */
export interface UsageDaysTable extends Omit<UsageTotal, 'keyId' | 'accountId' | 'route' | 'model'> {
  dimension: 'day' | 'model' | 'route' | 'account';
  /** The day itself, a model, a route, or an account. */
  name: string;
}

/** Sums of the day that runs, as of a moment; see usage-days.ts. */
export interface UsageTodayTable {
  day: string;
  /** Milliseconds since 1970. */
  at: number;
  /** Milliseconds that adding them up took. */
  tookMs: number;
  /** JSON. */
  sums: string;
}

/** The currency of all costs: at most one row. */
export interface UsageCurrencyTable {
  id: 1;
  /** ISO 4217. */
  currency: string;
}

/** What a request asked, of an account that keeps it. Its row in the usage log has the same account and id. */
export interface RequestInputsTable {
  accountId: string;
  requestId: string;
  keyId: string;
  at: number;
  text: string;
}

/** Accounts that have turned the storing of inputs on or off. */
export interface RequestInputSettingsTable {
  accountId: string;
  /** Days for which they are kept; null is off. */
  days: number | null;
  changedAt: number;
}

/** Aggregated requests without entries of their own, which must not be counted again. */
export interface UsageOverflowTable {
  id: string;
  at: number;
}

/** Background responses. The transaction that makes the final correction deletes the row, so it happens once. */
export interface BackgroundResponsesTable {
  id: string;
  accountId: string;
  model: string;
  upstream: string;
  /** These three columns name the log entry with the estimate. */
  keyId: string;
  at: number;
  requestId: string;
  /** JSON array: ids of the budgets that the estimate was charged to. */
  budgetIds: string;
  /** Money that a balance was charged, if one pays: it pays no more. Null without a budget. */
  paidCost: number | null;
  /** When the upstream is polled next. */
  dueAt: number;
  /** Delay between the last and the next poll; 0 before the first. */
  waitMs: number;
}

/**
 * Whether a row has an id that is not one of the gateway alone: of a client, a job or a part of a batch. Those of the
 * gateway say when they were made, so no request of most clients pays for the index of the others. Word by word in the SQL.
 */
export const HAS_OTHER_ID = `(length("requestId") <> 20 or substr("requestId", 1, 4) <> 'req_')`;

/** The usage tables. The key of an entry begins with its API key and time, so that its index grows in few pages. */
export const usageMigrations: Migrations = {
  '0001-usage': sqlMigration(
    `create table job_charges (
      "jobId" text primary key, kind text not null, "accountId" text not null, "keyId" text not null, model text not null,
      units integer not null, usage text, cost bigint, at bigint not null)`,
    `create table reservations (
      id text primary key, budgets text not null, "keyId" text not null, "accountId" text not null, route text not null,
      model text not null, tokens bigint not null, cost bigint not null, "inputTokens" bigint not null,
      "inputCost" bigint not null, "processId" text not null, at bigint not null)`,
    `create table usage_entries (
      "keyId" text not null, at bigint not null, "requestId" text not null, "accountId" text not null, route text not null,
      model text not null, status integer not null, "latencyMs" bigint not null, "inputTokens" bigint, "cachedTokens" bigint,
      "cacheWriteTokens" bigint, "outputTokens" bigint, "reasoningTokens" bigint, characters bigint,
      seconds double precision, images bigint, estimated integer not null, cost bigint,
      primary key ("keyId", at, "requestId"))`,
    `create table usage_totals (
      "keyId" text not null, day text not null, "accountId" text not null, route text not null, model text not null,
      requests bigint not null, failed bigint not null, estimated bigint not null, "inputTokens" bigint not null,
      "cachedTokens" bigint not null, "cacheWriteTokens" bigint not null default 0, "outputTokens" bigint not null,
      "reasoningTokens" bigint not null, characters bigint not null, seconds double precision not null,
      images bigint not null, priced bigint not null, cost bigint not null, "latencyMsSum" bigint not null,
      bytes bigint not null default 0,
      primary key ("keyId", day, "accountId", route, model))`,
    `create index usage_totals_account on usage_totals ("accountId", day)`,
    `create table usage_overflow (id text primary key, at bigint not null)`,
    `create table background_responses (
      id text not null, "accountId" text not null, model text not null, upstream text not null, "keyId" text not null,
      at bigint not null, "requestId" text not null, "budgetIds" text not null, "dueAt" bigint not null, "waitMs" bigint not null,
      primary key (id, "accountId"))`,
    `create index background_responses_due_at on background_responses ("dueAt")`,
    `create table usage_currency (id integer primary key, currency text not null)`,
  ),
  '0002-request-log': {
    ...sqlMigration(
      'alter table usage_entries add column "errorCode" text',
      'alter table usage_entries add column refused integer not null default 0',
      'alter table usage_totals add column refused bigint not null default 0',
      `create index usage_entries_failed on usage_entries ("keyId", at, "requestId") where status >= 400 or "errorCode" is not null`,
    ),
    changes: ['usage_entries', 'usage_totals'],
  },
  '0003-request-inputs': sqlMigration(
    `create table request_input_settings ("accountId" text primary key, days integer, "changedAt" bigint not null)`,
    `create index request_input_settings_changed_at on request_input_settings ("changedAt")`,
    `create table request_inputs (
      "accountId" text not null, "requestId" text not null, "keyId" text not null, at bigint not null, text text not null,
      primary key ("accountId", "requestId"))`,
    `create index request_inputs_at on request_inputs ("accountId", at)`,
  ),
  '0008-usage-days': sqlMigration(
    `create table usage_days (
      dimension text not null, day text not null, name text not null, requests bigint not null, failed bigint not null,
      estimated bigint not null, "inputTokens" bigint not null, "cachedTokens" bigint not null,
      "cacheWriteTokens" bigint not null, "outputTokens" bigint not null, "reasoningTokens" bigint not null,
      characters bigint not null, seconds double precision not null, images bigint not null, priced bigint not null,
      cost bigint not null, "latencyMsSum" bigint not null, bytes bigint not null, refused bigint not null,
      primary key (dimension, day, name))`,
  ),
  '0012-usage-today': sqlMigration(
    `create table usage_today (day text primary key, at bigint not null, "tookMs" integer not null, sums text not null)`,
  ),
  // The sums of a day have its routes too: those without are added up again.
  '0018-usage-routes': { ...sqlMigration('delete from usage_days'), changes: ['usage_days'] },
  '0019-request-ids': {
    ...sqlMigration(
      (engine) =>
        `create index usage_entries_other_id on usage_entries ("requestId"${engine === 'postgres' ? ' collate "C"' : ''}) where ${HAS_OTHER_ID}`,
    ),
    changes: ['usage_entries'],
  },
};
