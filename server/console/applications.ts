/*
 * The applications of `SIGN_IN_APPS` in the console: who may sign in, where each is, and who did last. They are set in
 * the settings, so the page changes nothing, and it has no secret.
 */

import { type ListedApplication, listApplications } from '../admin/index.js';
import type { Route } from '../http/index.js';
import { dataTable, emptyState, type Html, html, type Locale } from '../site/index.js';
import { type ConsoleServices, consolePage } from './console-route.js';
import { facts, section, userRowLink } from './parts.js';

export function applicationPages(services: ConsoleServices): Route[] {
  return [
    consolePage(services, {
      path: '/applications',
      summary: 'Applications in the console',
      description: 'Page of the applications that sign people in with accounts of this gateway.',
      async show({ locale }) {
        const t = locale.texts.console.applications;
        const applications = await listApplications(services);
        return {
          title: locale.texts.console.pages.applications,
          current: 'applications',
          lead: html`${t.lead} ${t.everyUser} <a href="/docs/accounts/sign-in">${t.how}</a>`,
          content:
            applications.length === 0
              ? html`<section class="card">${emptyState(t.none, t.noneWords)}</section>`
              : html`${applications.map((one, index) => renderApplication(one, { index, issuer: services.site().url }, locale))}`,
        };
      },
    }),
  ];
}

function renderApplication(
  { name, redirectUris, signIns }: ListedApplication,
  { index, issuer }: { index: number; issuer: string },
  locale: Locale,
): Html {
  const t = locale.texts.console.applications;
  const about = facts([
    [t.clientId, html`<code>${name}</code>`],
    [t.issuer, html`<bdi class="mono small">${issuer}</bdi>`],
    [t.addresses, html`${redirectUris.map((uri) => html`<bdi class="mono small whole">${uri}</bdi> `)}`],
    [t.last, signIns[0] ? locale.minute(signIns[0].at) : t.never],
  ]);
  return section(
    `application-${index}`,
    name,
    html`${about}
${signIns.length > 0 && renderSignIns(signIns, locale)}`,
  );
}

function renderSignIns(signIns: ListedApplication['signIns'], locale: Locale): Html {
  const t = locale.texts.console;
  return dataTable<ListedApplication['signIns'][number]>({
    label: t.applications.signIns,
    isStacked: true,
    rows: signIns,
    empty: { title: t.applications.never, words: '' },
    columns: [
      {
        head: t.applications.signIns,
        cell: ({ user }) => userRowLink(user),
      },
      { head: t.users.lastSignIn, isNumber: true, inCard: 'end', cell: ({ at }) => locale.minute(at) },
    ],
  });
}
