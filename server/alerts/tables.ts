/*
 * The tables of alerts: one row for each condition that was ever met, one for each message that is still to be sent, and
 * one row by which the processes take turns in judging the conditions that all of them could judge.
 */

import { type Migrations, sqlMigration } from '../../core/database/index.js';

/**
 * | kind | subject | open while |
 * |---|---|---|
 * | `budget_low` | owner, unit and period | 80 % of a budget of a key, an account or a group is used |
 * | `budget_used` | the same | all of it is used |
 * | `upstream_down` | entry of the plugins file | it failed, or all its servers cool down or lack its models |
 * | `error_rate` | empty | too many of the latest requests failed by the gateway or its upstreams |
 * | `bank_money` | empty | bank transfers wait for a review |
 * | `disk_low` | name of the machine | the disk of its data folder is nearly full |
 * | `certificate` | host name | the TLS certificate of the public address ends within 14 days |
 * | `probe_failed` | key of the platform | its last live probe, at most a day old, failed |
 */
export const ALERT_KINDS = [
  'budget_low',
  'budget_used',
  'upstream_down',
  'error_rate',
  'bank_money',
  'disk_low',
  'certificate',
  'probe_failed',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

export const ALERT_STATES = ['open', 'acknowledged', 'closed'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

/** What was found, for texts and programs. Nothing in it is secret. */
export type AlertDetail = Readonly<Record<string, string | number>>;

/** Times are milliseconds since 1970. */
export interface Alert {
  /** `alr_` and 8 hex digits. */
  id: string;
  kind: AlertKind;
  /** What it is about: unique with the kind. */
  subject: string;
  state: AlertState;
  /** When it opened last. */
  openedAt: number;
  /** When the condition was last met. */
  seenAt: number;
  /** Null while it is not closed. */
  endedAt: number | null;
  /** How often it has opened. */
  times: number;
  detail: AlertDetail;
  /** Null unless an operator acknowledged it since it opened. */
  acknowledgedAt: number | null;
  acknowledgedBy: string | null;
}

export interface AlertsTable extends Omit<Alert, 'detail'> {
  /** JSON of {@link AlertDetail}. */
  detail: string;
  /** When its latest message was written. */
  notifiedAt: number;
}

export const ALERT_EVENTS = ['opened', 'repeated', 'closed'] as const;
export type AlertEvent = (typeof ALERT_EVENTS)[number];
export type AlertChannel = 'webhook' | 'email';

/** A message that waits for its delivery; it is deleted when it was delivered or given up. */
export interface AlertMessagesTable {
  id: string;
  channel: AlertChannel;
  event: AlertEvent;
  /** JSON of {@link Alert} as it was then. */
  alert: string;
  at: number;
  dueAt: number;
  tries: number;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    alerts: AlertsTable;
    alert_messages: AlertMessagesTable;
    alert_turns: { id: number; dueAt: number };
  }
}

export const alertMigrations: Migrations = {
  '0006-alerts': {
    ...sqlMigration(
      `create table alerts (
        id text primary key, kind text not null, subject text not null, state text not null, "openedAt" bigint not null,
        "seenAt" bigint not null, "endedAt" bigint, times integer not null, detail text not null,
        "acknowledgedAt" bigint, "acknowledgedBy" text, "notifiedAt" bigint not null, unique (kind, subject))`,
      `create index alerts_opened on alerts ("openedAt", id)`,
      `create index alerts_active on alerts ("openedAt", id) where state <> 'closed'`,
      `create table alert_messages (
        id text primary key, channel text not null, event text not null, alert text not null, at bigint not null,
        "dueAt" bigint not null, tries integer not null)`,
      `create index alert_messages_due_at on alert_messages ("dueAt")`,
      `create table alert_turns (id integer primary key, "dueAt" bigint not null)`,
      `create index budgets_shared on budgets (id) where scope in ('key', 'account', 'group')`,
    ),
    changes: ['budgets'],
  },
};
