/*
 * Invitations in the console: open ones with who made them, a form that invites a user or an operator, and one that
 * withdraws. The link is shown once, on the next page, since only its hash is stored. Where passkeys cannot work, the page
 * says why and offers no form.
 */

import { INVITED_ROLES, invite } from '../admin/index.js';
import type { Route } from '../http/index.js';
import { INVITATION_HOURS, type InvitationRecord, invitedPlan, MAX_INVITATION_HOURS } from '../passkeys/index.js';
import { freeTierTerms } from '../plans/index.js';
import { badge, type Column, copyButton, dataTable, type Html, html, type Locale, planName } from '../site/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  choiceOf,
  consoleForm,
  consolePage,
} from './console-route.js';
import { action, choiceField, chosen, presetField, textField } from './forms.js';
import { actorName, nearestSpan, peopleOf } from './parts.js';

const HOUR_MS = 60 * 60 * 1000;
/** Usual lives of an invitation. */
const HOURS = [1, 24, 72, 168];

export function invitationPages(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => invitationsPage(services, call);
  return [
    consolePage(services, {
      path: '/invitations',
      summary: 'Invitations in the console',
      description: 'Page of the open invitations.',
      show,
    }),
    consoleForm(services, {
      path: '/invitations',
      summary: 'Invite in the console',
      description: 'Makes an invitation and shows its link, only once.',
      form: {
        role: '`member`, `billing` or `operator`.',
        name: 'Suggested name.',
        hours: 'Hours until it expires, or `other`.',
        hours_other: 'With `other`: the hours.',
        user: 'Id or address of a user whose passkeys it replaces. Empty: a new user.',
        plan: 'Id of the plan of the new account. Empty: the free tier.',
      },
      errors: ['invalid_value', 'user_not_found', 'sign_in_unavailable'],
      show,
      async run(call) {
        const { field, by } = call;
        const [name, hours, user, plan] = [field('name'), chosen(field, 'hours'), field('user'), field('plan')];
        const { link } = await invite(services, {
          role: choiceOf(field('role'), INVITED_ROLES) ?? 'member',
          ...(name !== '' && { name }),
          ...(user !== '' && { user }),
          ...(plan !== '' && { plan }),
          ...(hours !== '' && { hours: Number(hours) }),
          ...by,
        });
        return invitationsPage(services, call, link);
      },
    }),
    consoleForm(services, {
      path: '/invitations/:id/withdraw',
      params: { id: { description: 'Id of the invitation.' } },
      summary: 'Withdraw an invitation in the console',
      description: 'The link no longer works.',
      show,
      async run({ param, by }) {
        const isDone = await services.state.invitations.withdraw({ id: param('id'), ...by });
        return `/invitations?done=${isDone ? 'invitation_withdrawn' : 'nothing'}`;
      },
    }),
  ];
}

/** @param link Of an invitation that was just made. */
async function invitationsPage(services: ConsoleServices, call: ConsoleCall, link?: string): Promise<ConsolePage> {
  const { locale } = call;
  const { console: own } = locale.texts;
  const t = own.invitations;
  const { passkeys } = services.identity.status();
  const rows = await services.state.invitations.list();
  const people = await peopleOf(
    services,
    rows.flatMap(({ invitedBy, userId }) => [invitedBy, userId]),
  );
  const replaced: Column<InvitationRecord> = {
    head: t.replaces,
    cell: ({ userId }) =>
      userId !== null && html`<a href="/admin/users/${userId}">${actorName(userId, people, locale)}</a>`,
  };
  const plans: Column<InvitationRecord> = {
    head: t.plan,
    cell(row) {
      const plan = invitedPlan(row);
      return plan !== null && html`<bdi>${planName({ catalogue: services.catalogue, locale }, plan)}</bdi>`;
    },
  };
  return {
    title: own.pages.invitations,
    current: 'invitations',
    lead: t.lead,
    primary: passkeys.state !== 'off' && renderForm(services, call, link !== undefined),
    content: html`${link !== undefined && renderLink(link, locale)}${passkeys.state === 'off' && html`<div class="notice notice-warn stack-small"><p><strong>${t.off}</strong> <a href="/docs/accounts/sign-in">${t.how}</a></p><p class="small" lang="en">${passkeys.reason}</p></div>`}
<section class="card stack">
${dataTable<InvitationRecord>({
  label: t.open,
  isStacked: true,
  rows,
  empty: { title: t.none, words: t.noneWords },
  columns: [
    {
      head: t.name,
      cell: ({ name, id }) =>
        html`<bdi class="entry">${name ?? t.unnamed}</bdi><code class="detail small muted key">${id}</code>`,
    },
    {
      head: t.role,
      inCard: 'line',
      cell: ({ role }) =>
        html`${badge(t.roles[role], role === 'operator' ? 'warn' : 'plain')} <span class="small muted">${t.does[role]}</span>`,
    },
    ...(rows.some(({ userId }) => userId !== null) ? [replaced] : []),
    ...(rows.some(({ terms }) => terms !== null) ? [plans] : []),
    { head: t.by, cell: ({ invitedBy }) => actorName(invitedBy, people, locale) },
    {
      head: t.expires,
      cell: ({ expiresAt }) =>
        html`${locale.minute(expiresAt)}<span class="detail small muted beside">${t.left(own.span(nearestSpan(expiresAt - services.clock.now())))}</span>`,
    },
    {
      head: t.withdrawHead,
      isActions: true,
      cell: ({ id, name, role }) =>
        action(
          {
            path: `/invitations/${id}/withdraw`,
            label: t.withdraw,
            about: html`<bdi>${name ?? t.unnamed}</bdi> <span class="muted">${t.roles[role]}</span>`,
            words: t.withdrawWords,
            button: t.withdrawNow,
            isBad: true,
          },
          locale,
        ),
    },
  ],
})}
</section>`,
  };
}

function renderLink(link: string, locale: Locale): Html {
  const t = locale.texts.console.invitations;
  return html`<section class="new-key stack" aria-labelledby="new-link" tabindex="-1" autofocus><h2 id="new-link">${t.made}</h2><p>${t.madeWords}</p>
<div class="row new-key-row"><code id="new-link-text">${link}</code>${copyButton('new-link-text', t.made, locale)}</div></section>`;
}

function renderForm(services: ConsoleServices, { locale, field, problem }: ConsoleCall, isMade: boolean): Html {
  const { catalogue } = services;
  const t = locale.texts.console.invitations;
  const sentOf = (name: string) => (isMade ? '' : field(name));
  const roles = INVITED_ROLES.map((value) => ({ value, label: `${t.roles[value]}: ${t.does[value]}` }));
  const hours = isMade ? '' : chosen(field, 'hours');
  const span = (of: number) => locale.texts.console.span(of * HOUR_MS);
  const presets = [
    { value: '', label: span(INVITATION_HOURS) },
    ...HOURS.filter((of) => of !== INVITATION_HOURS && of <= MAX_INVITATION_HOURS).map((of) => ({
      value: String(of),
      label: span(of),
    })),
  ];
  const other = textField({
    name: 'hours_other',
    label: t.hours,
    type: 'number',
    hint: t.hoursHint(INVITATION_HOURS, MAX_INVITATION_HOURS),
    value: presets.some(({ value }) => value === hours) ? '' : hours,
  });
  const named = catalogue.plans.map(({ id }) => ({ value: id, label: planName({ catalogue, locale }, id) }));
  const plans = [{ value: '', label: t.noPlan }, ...named];
  const fields = html`<div class="form-row">${choiceField({ name: 'role', label: t.role, choices: roles, value: sentOf('role') || 'member' })}${textField({ name: 'name', label: t.name, hint: t.nameHint, maxLength: 100, value: sentOf('name') })}</div>
${presetField({ name: 'hours', label: t.valid, value: hours, presets, other }, locale)}
${choiceField({ name: 'plan', label: t.plan, choices: plans, value: sentOf('plan'), hint: t.planHint(freeTierText(services, locale)) })}
${textField({ name: 'user', label: t.replaces, hint: t.userHint, value: sentOf('user') })}`;
  return action(
    {
      path: '/invitations',
      label: t.invite,
      words: t.inviteWords,
      button: t.inviteNow,
      fields,
      isPrimary: true,
      isOpen: problem !== undefined,
    },
    locale,
    problem,
  );
}

/** What an account may do without a plan: `50 model requests in all, 30 requests a minute, m-5.5`. */
function freeTierText(services: ConsoleServices, { texts: { words, console: own } }: Locale): string {
  const { budget, rpm, models } = freeTierTerms(services);
  const most = budget?.requestLimit ?? null;
  return [
    ...(most === null ? [] : [`${words.modelRequests(most)} ${own.budgets.resets[budget?.resets ?? 'never']}`]),
    words.aMinute(words.requests(rpm)),
    ...(models ?? []),
  ].join(', ');
}
