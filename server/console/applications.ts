/*
 * The applications of `SIGN_IN_APPS` in the console: who may sign in, where each is, and who did last. They are set in
 * the settings, so the page changes nothing, and it has no secret.
 */

import { type ListedApplication, listApplications } from '../admin/index.js';
import type { Route } from '../http/index.js';
import { copyIcon, dataTable, emptyState, type Html, html, type Locale } from '../site/index.js';
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
              : html`<section class="card stack-small" aria-label="${t.issuer}">${facts([[t.issuer, copyableText(services.site().url, t.issuer, locale)]])}<p class="small muted">${t.issuerWords}</p></section>
${applications.map((one, index) => renderApplication(one, index, locale))}`,
        };
      },
    }),
  ];
}

function renderApplication({ name, redirectUris, signIns }: ListedApplication, index: number, locale: Locale): Html {
  const t = locale.texts.console.applications;
  const [latest] = signIns;
  const about = facts([
    [t.clientId, copyableText(name, t.clientId, locale)],
    [t.addresses, html`${redirectUris.map((uri) => copyableText(uri, t.addresses, locale))}`],
  ]);
  return section(
    `application-${index}`,
    name,
    html`${about}
${signIns.length > 0 && renderSignIns(signIns, locale)}`,
    html`<span class="small muted">${latest ? html`${t.last}: ${locale.minute(latest.at)}` : t.noSignIns}</span>`,
  );
}

/** Whole, since it is typed into another application, with a button that copies it. */
function copyableText(text: string, what: string, locale: Locale): Html {
  return html`<span class="copyable copyable-whole wide whole"><bdi class="mono small">${text}</bdi>${copyIcon(what, locale)}</span>`;
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
