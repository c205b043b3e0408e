/*
 * Groups of keys in the console: their budgets with what is left, the keys of each, and forms that make a group, change
 * its budgets and delete it. A group with keys is deleted only if its keys are to leave it, which its form says.
 */

import { deleteGroup, type ListedGroup, listGroups, makeGroup, setBudgets, showGroup } from '../admin/index.js';
import type { Route } from '../http/index.js';
import { emptyState, type Html, html, isolated, linkTo } from '../site/index.js';
import { type ConsoleCall, type ConsolePage, type ConsoleServices, consoleForm, consolePage } from './console-route.js';
import { action, actionMenu, actions, BUDGETS_FORM, budgetField, budgetText, readBudgets, textField } from './forms.js';
import { emptyList, renderBudget, searchBar } from './parts.js';

const PATH = '/admin/groups';
/** More are searched. */
const SEARCHED = 10;
const NAME = { name: { description: 'Name of the group.' } };
/** A page stays below 80 kB. */
const SHOWN = 50;

export function groupPages(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => groupsPage(services, call);
  return [
    consolePage(services, {
      path: '/groups',
      summary: 'Groups in the console',
      description: 'Page of the groups of keys and their budgets.',
      query: { q: 'Part of a name.' },
      show,
    }),
    consoleForm(services, {
      path: '/groups',
      summary: 'Create a group in the console',
      description: 'Creates a group, such as a team, whose keys share its budgets.',
      form: { name: 'Name of the group.', ...BUDGETS_FORM },
      errors: ['invalid_value'],
      show,
      async run({ field, by }) {
        await makeGroup(services, { name: field('name'), budgets: readBudgets(field), ...by });
        return '/groups?done=group_made';
      },
    }),
    consoleForm(services, {
      path: '/groups/:name/budgets',
      params: NAME,
      summary: 'Set budgets of a group in the console',
      description: 'Replaces all budgets of a group.',
      form: BUDGETS_FORM,
      errors: ['invalid_value'],
      show,
      async run({ param, field, by }) {
        await setBudgets(services, {
          scope: 'group',
          subject: param('name'),
          budgets: readBudgets(field),
          ...by,
        });
        return '/groups?done=group_changed';
      },
    }),
    consoleForm(services, {
      path: '/groups/:name/members',
      params: NAME,
      summary: 'Show the keys of a group in the console',
      description: 'Lets users with a key in the group see all its keys, or no longer.',
      form: { see: '`yes` or `no`.' },
      errors: ['invalid_value'],
      show,
      async run({ param, field, by }) {
        const isShown = field('see') === 'yes';
        await showGroup(services, { name: param('name'), isShown, ...by });
        return `/groups?done=${isShown ? 'group_shown' : 'group_hidden'}`;
      },
    }),
    consoleForm(services, {
      path: '/groups/:name/delete',
      params: NAME,
      summary: 'Delete a group in the console',
      description: 'Deletes a group with its budgets; its keys leave it.',
      errors: ['invalid_value'],
      show,
      async run({ param, by }) {
        await deleteGroup(services, { name: param('name'), releaseKeys: true, ...by });
        return '/groups?done=group_deleted';
      },
    }),
  ];
}

async function groupsPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query, field, fields, problem, param } = call;
  const { console: own } = locale.texts;
  const t = own.groups;
  const search = query('q')?.toLowerCase() ?? '';
  const found = (await listGroups(services)).filter(({ name }) => name.includes(search));
  const reset = search === '' ? undefined : PATH;
  const words = html`${t.noneWords} <a href="/docs/operate/keys-and-budgets">${t.how}</a>`;
  const empty = emptyList(
    { title: t.none, words: reset === undefined ? words : t.noneFound(isolated(search)), reset },
    locale,
  );
  const isNew = problem !== undefined && fields.includes('name');
  const currency = services.prices?.currency;
  const budgets = { id: 'budgets-new', value: isNew ? readBudgets(field) : [], currency };
  const name = textField({
    name: 'name',
    label: t.name,
    isRequired: true,
    maxLength: 64,
    hint: t.nameHint,
    placeholder: 'design-team',
    value: isNew ? field('name') : '',
  });
  const create = { path: '/groups', label: t.create, words: t.createWords, button: t.createNow };
  const inputs = html`${name}${budgetField({ ...budgets, label: own.keys.budgets }, locale)}`;
  const sentTo = problem !== undefined && !isNew ? param('name') : undefined;
  return {
    title: own.pages.groups,
    current: 'groups',
    lead: t.lead,
    primary: action({ ...create, fields: inputs, isPrimary: true, isOpen: isNew }, locale, problem),
    content: html`${(search !== '' || found.length > SEARCHED) && searchBar({ path: PATH, label: t.search, placeholder: t.search, value: query('q'), reset: found.length === 0 ? undefined : reset }, locale)}
<section class="card" aria-label="${own.pages.groups}">
${found.length === 0 ? emptyState(empty.title, empty.words) : html`<ul class="rows groups">${found.slice(0, SHOWN).map((group) => renderGroup(group, { call, currency, isSent: sentTo === group.name }))}</ul>`}
${found.length > SHOWN && html`<p class="small muted">${t.more(found.length - SHOWN)}</p>`}
</section>`,
  };
}

function renderGroup(
  { name, keys, budgets, isShown }: ListedGroup,
  { call, currency, isSent }: { call: ConsoleCall; currency: string | undefined; isSent: boolean },
): Html {
  const { locale, field, problem } = call;
  const { groups: t, keys: words } = locale.texts.console;
  const about = html`<bdi>${name}</bdi> <span class="muted">${t.keys(keys)}</span>`;
  const value = isSent ? readBudgets(field) : budgets.map(budgetText);
  const fields = budgetField({ id: `budgets-${name}`, label: words.budgets, value, currency }, locale);
  const of =
    keys === 0
      ? html`<span class="small muted">${t.noKeys}</span>`
      : html`<span class="small"><a href="${linkTo('/admin/keys', { group: name })}">${t.keys(keys)}</a>${isShown && html`<span class="muted"> · ${t.shown}</span>`}</span>`;
  return html`<li><div><strong><bdi>${name}</bdi></strong>${of}</div>
<div class="group-budgets">${budgets.length === 0 ? html`<span class="small muted">${t.unlimited}</span>` : budgets.map((budget) => renderBudget(budget, locale))}</div>
${actions([
  action(
    {
      path: `/groups/${name}/budgets`,
      label: t.change,
      about,
      words: t.changeWords,
      button: t.changeNow,
      fields,
      isOpen: isSent,
    },
    locale,
    problem,
  ),
  actionMenu(
    name,
    [
      {
        path: `/groups/${name}/members`,
        label: isShown ? t.hide : t.show,
        about,
        words: isShown ? t.hideWords : t.showWords,
        button: isShown ? t.hideNow : t.showNow,
        fields: html`<input type="hidden" name="see" value="${isShown ? 'no' : 'yes'}">`,
      },
      {
        path: `/groups/${name}/delete`,
        label: t.delete,
        about,
        words: keys > 0 ? t.deleteKeysWords(keys) : t.deleteWords,
        button: t.deleteNow,
        isBad: true,
      },
    ],
    locale,
  ),
])}</li>`;
}
