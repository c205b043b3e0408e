/*
 * The audit log for operators: latest first, by days, subject, actor or action, in pages. Several subjects or actors are
 * read beside each other, each along its index, and merged. Days are by UTC, both included, as on the page of the console.
 */

import { Type } from '../../core/contracts/index.js';
import { AUDIT_ACTIONS, type AuditAction, type AuditEntry, type AuditPlace } from '../audit/index.js';
import { isoTime } from '../format/index.js';
import { OneOf, type Route, Text } from '../http/index.js';
import { readRangeQuery } from '../usage/index.js';
import { adminRoute } from './admin-route.js';
import {
  encodePage,
  LIST_QUERY,
  type ListPage,
  type ListPlace,
  type ListRange,
  listSchema,
  rangeOf,
  readPage,
} from './lists.js';
import { DayText } from './requests.js';
import type { AdminServices, Stored } from './services.js';
import { AuditLine } from './shapes.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Everything that is absent is not limited. */
export interface AuditFilter {
  /** One of these. */
  subject?: string | readonly string[];
  /** One of these. */
  actor?: string | readonly string[];
  action?: AuditAction;
  /** Since then, in milliseconds since 1970. */
  from?: number;
  /** Before then. */
  to?: number;
}

export function listAudit(
  { state: { audit } }: Stored<'audit'>,
  filter: AuditFilter,
  range: ListRange,
): Promise<ListPage<AuditEntry>> {
  const { subject, actor, ...rest } = filter;
  // Each is read along an index of its own, and what is first of all of them is the page.
  const parts = asList(subject).flatMap((one) => asList(actor).map((by) => ({ subject: one, actor: by })));
  const read = async ({ limit, after }: ListRange) => {
    const place = after && { after: fromPlace(after) };
    const lists = parts.map(({ subject: about, actor: by }) =>
      audit.list({
        ...rest,
        ...(about !== undefined && { subject: about }),
        ...(by !== undefined && { actor: by }),
        limit,
        ...place,
      }),
    );
    const rows = (await Promise.all(lists)).flat();
    return parts.length === 1 ? rows : rows.sort(byPlace).slice(0, limit);
  };
  return readPage(range, read, toPlace);
}

/** The days of `from` and `to`, both included; without both of them all days. @throws GatewayError `invalid_value`. */
export function auditDays(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  now: number,
): Pick<AuditFilter, 'from' | 'to'> {
  if (from === undefined && to === undefined) return {};
  const days = readRangeQuery({ from, to }, now);
  return { from: Date.parse(days.from), to: Date.parse(days.to) + DAY_MS };
}

function asList(of: string | readonly string[] | undefined): readonly (string | undefined)[] {
  return of === undefined || typeof of === 'string' ? [of] : of;
}

/** Latest first, as each list is. */
function byPlace(one: AuditEntry, other: AuditEntry): number {
  if (one.at !== other.at) return other.at - one.at;
  if (one.subject !== other.subject) return one.subject < other.subject ? 1 : -1;
  return other.number - one.number;
}

/** Subject and number together identify a row. */
function toPlace({ at, subject, number }: AuditEntry): ListPlace {
  return { at, id: `${number}/${encodeURIComponent(subject)}` };
}

function fromPlace({ at, id }: ListPlace): AuditPlace {
  const [, number = '0', subject = ''] = /^(\d{1,9})\/(.*)$/.exec(id) ?? [];
  return { at, number: Number(number), subject: decode(subject) };
}

/** An invented cursor finds some other place, which is no harm. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A row of the audit log, for the API and the `--json` output. */
export function encodeAuditEntry({ at, ...entry }: AuditEntry) {
  return { at: isoTime(at), ...entry };
}

export function auditRoutes(services: AdminServices): Route[] {
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/audit',
      summary: 'List the audit log',
      description: 'Lists who did what to which key, user, order, job or group, latest first.',
      query: {
        subject: { schema: Text, description: "Only this subject: an order's code, `group:NAME`, or an id." },
        actor: { schema: Text, description: 'Only of this actor, such as `operator:ann`.' },
        action: { schema: Type.Unsafe<AuditAction>(OneOf(...AUDIT_ACTIONS)), description: 'Only this action.' },
        from: { schema: DayText, description: 'First day by UTC, e.g. 2026-06-15. Default: all days.' },
        to: { schema: DayText, description: 'Last day by UTC.' },
        ...LIST_QUERY,
      },
      answer: { description: 'The rows.', name: 'AuditList', schema: listSchema(AuditLine, 'Rows') },
      async run({ query: { limit, after, from, to, ...filter } }) {
        const days = auditDays({ from, to }, services.clock.now());
        return encodePage(
          await listAudit(services, { ...filter, ...days }, rangeOf({ limit, after })),
          encodeAuditEntry,
        );
      },
    }),
  ];
}
