/*
 * The audit log in the console: who did what to which subject, latest first, by subject, actor and action.
 */

import { listAudit } from '../admin/index.js';
import { AUDIT_ACTIONS } from '../audit/index.js';
import type { Route } from '../http/index.js';
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
import { history } from './parts.js';

const PATH = '/admin/audit';

export function auditPages(services: ConsoleServices): Route[] {
  return [
    consolePage(services, {
      path: '/audit',
      summary: 'Audit log in the console',
      description: 'Page of the audit log, by subject, actor and action.',
      query: { subject: 'What was changed.', actor: 'Who changed it.', action: 'What was done.', after: 'Cursor.' },
      show: (call) => auditPage(services, call),
    }),
  ];
}

async function auditPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query } = call;
  const { texts } = locale;
  const { history: t, ...own } = texts.console;
  const [subject, actor, name] = [query('subject'), query('actor'), choiceOf(query('action'), AUDIT_ACTIONS)];
  const filter = {
    ...(subject !== undefined && { subject }),
    ...(actor !== undefined && { actor }),
    ...(name && { action: name }),
  };
  const { items, next } = await listAudit(services, filter, rangeOf(call));
  const filters = { subject, actor, action: name };
  return {
    title: own.pages.audit,
    current: 'audit',
    lead: own.audit.lead,
    content: html`${filterCard(
      {
        path: PATH,
        label: own.pages.audit,
        reset: linkTo(PATH, filters) === PATH ? undefined : PATH,
        fields: [
          { kind: 'text', name: 'subject', label: t.subject, value: subject, placeholder: 'MG7K3M9QXD' },
          { kind: 'text', name: 'actor', label: t.actor, value: actor, placeholder: 'operator:ann' },
          {
            kind: 'choice',
            name: 'action',
            label: t.action,
            value: name,
            all: texts.usage.all,
            choices: AUDIT_ACTIONS.map((value) => ({ value, label: t.actions[value] })),
          },
        ],
      },
      locale,
    )}
<section class="card stack">
${await history(services, items, locale, true)}
${pagesOf(call, { path: PATH, filters, ...(next && { next }) })}
</section>`,
  };
}
