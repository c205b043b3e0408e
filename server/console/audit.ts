/*
 * The audit log in the console: who did what to which subject, latest first, by days, subject, actor and action. A person
 * is named by address or name as well: rows about and by the user and the account are meant then.
 */

import { type AuditFilter, auditDays, listAudit } from '../admin/index.js';
import { AUDIT_ACTIONS } from '../audit/index.js';
import { dayOf } from '../format/index.js';
import type { Route } from '../http/index.js';
import { isOrderCode } from '../payments/index.js';
import { filterCard, html, linkTo } from '../site/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  choiceOf,
  consolePage,
  pagesOf,
  rangeOf,
} from './console-route.js';
import { history } from './history.js';

const PATH = '/admin/audit';
/** Of the users that one text names. */
const PERSONS = 2;

export function auditPages(services: ConsoleServices): Route[] {
  return [
    consolePage(services, {
      path: '/audit',
      summary: 'Audit log in the console',
      description: 'Page of the audit log, by days, subject, actor and action.',
      query: {
        from: 'First day by UTC, e.g. 2026-06-15. Default: all days.',
        to: 'Last day by UTC.',
        subject: 'What was changed: an id, or the address or name of a user.',
        actor: 'Who changed it: as in the log, or the address or name of a user.',
        action: 'What was done.',
        after: 'Cursor.',
      },
      show: (call) => auditPage(services, call),
    }),
  ];
}

/** Who is meant by a name: the text itself, or users that have it as their address or name. */
async function personsOf({ state: { users } }: ConsoleServices, text: string) {
  if (/^[\w-]+:|^(?:user|acct|inv|inc)_/.test(text) || isOrderCode(text)) return [];
  const found = await users.list({ search: text, limit: PERSONS });
  return found.filter(({ email, name }) =>
    [email, name].some((one) => one?.toLowerCase().startsWith(text.toLowerCase()) === true),
  );
}

async function filterOf(services: ConsoleServices, { query }: ConsoleCall): Promise<AuditFilter> {
  const [subject, actor, action] = [query('subject'), query('actor'), choiceOf(query('action'), AUDIT_ACTIONS)];
  const days = auditDays({ from: query('from'), to: query('to') }, services.clock.now());
  const [about, by] = await Promise.all([
    subject === undefined ? [] : personsOf(services, subject),
    actor === undefined ? [] : personsOf(services, actor),
  ]);
  return {
    ...(subject !== undefined && { subject: [subject, ...about.flatMap(({ id, accountId }) => [id, accountId])] }),
    ...(actor !== undefined && {
      actor: [actor, ...by.flatMap(({ id }) => ['user', 'operator', 'billing'].map((kind) => `${kind}:${id}`))],
    }),
    ...(action && { action }),
    ...days,
  };
}

async function auditPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query } = call;
  const { texts } = locale;
  const { history: t, ...own } = texts.console;
  const names = ['from', 'to', 'subject', 'actor', 'action'] as const;
  const filters = Object.fromEntries(names.map((name) => [name, query(name)]));
  const { subject, actor, action } = filters;
  const { items, next } = await listAudit(services, await filterOf(services, call), rangeOf(call));
  const isFiltered = linkTo(PATH, filters) !== PATH;
  const today = dayOf(services.clock.now());
  return {
    title: own.pages.audit,
    current: 'audit',
    lead: own.audit.lead,
    content: html`${filterCard(
      {
        path: PATH,
        label: own.pages.audit,
        reset: isFiltered ? PATH : undefined,
        days: { range: { from: filters.from ?? '', to: filters.to ?? '' }, today, isOptional: true },
        isFolded: true,
        fields: [
          { kind: 'text', name: 'subject', label: t.subject, value: subject, placeholder: own.audit.subjectHint },
          { kind: 'text', name: 'actor', label: t.actor, value: actor, placeholder: own.audit.actorHint },
          {
            kind: 'choice',
            name: 'action',
            label: t.action,
            value: action,
            all: texts.usage.all,
            choices: AUDIT_ACTIONS.map((value) => ({ value, label: t.actions[value] })),
          },
        ],
      },
      locale,
    )}
<section class="card stack">
${await history(services, items, locale, { reset: isFiltered ? PATH : undefined })}
${pagesOf(call, { path: PATH, filters, ...(next && { next }) })}
</section>`,
  };
}
