/*
 * The audit log for operators: latest first, by subject, actor or action, in pages.
 */

import { Type } from '../../core/contracts/index.js';
import { AUDIT_ACTIONS, type AuditAction, type AuditEntry, type AuditPlace } from '../audit/index.js';
import { isoTime } from '../format/index.js';
import { OneOf, type Route, Text } from '../http/index.js';
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
import type { AdminServices, Stored } from './services.js';
import { AuditLine } from './shapes.js';

/** Everything that is absent is not limited. */
export interface AuditFilter {
  subject?: string;
  actor?: string;
  action?: AuditAction;
}

export function listAudit(
  { state: { audit } }: Stored<'audit'>,
  filter: AuditFilter,
  range: ListRange,
): Promise<ListPage<AuditEntry>> {
  const read = ({ limit, after }: ListRange) =>
    audit.list({ ...filter, limit, ...(after && { after: fromPlace(after) }) });
  return readPage(range, read, toPlace);
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
        ...LIST_QUERY,
      },
      answer: { description: 'The rows.', name: 'AuditList', schema: listSchema(AuditLine, 'Rows') },
      async run({ query: { limit, after, ...filter } }) {
        return encodePage(await listAudit(services, filter, rangeOf({ limit, after })), encodeAuditEntry);
      },
    }),
  ];
}
