/*
 * The fields of the forms that create and change a key, and how they are read. The grant of the admin API stands apart,
 * since it opens everything.
 */

import type { WholeKey } from '../admin/index.js';
import { type ApiKeyRecord, isSiteAccount, type KeyGrant, OPERATOR_KEY_GRANTS } from '../keys/index.js';
import { type Html, html, readTypedDay } from '../site/index.js';
import type { ConsoleCall, ConsoleServices } from './console-route.js';
import { BUDGETS_FORM, budgetField, budgetText, chosen, lastDayField, readBudgets, textField } from './forms.js';

export const LIMITS = {
  rpm: 'Requests a minute; empty is unlimited.',
  expires: 'Its last day, by UTC, or `other`; empty is never.',
  expires_other: 'With `other`: its last day.',
  ...BUDGETS_FORM,
  group: 'Its group.',
  ...Object.fromEntries(OPERATOR_KEY_GRANTS.map((grant) => [`grant_${grant}`, `Whether it has the grant ${grant}.`])),
};

/** A key of a plan or a user has the limits of the plan. */
export function hasOwnLimits({ planId, accountId }: ApiKeyRecord): boolean {
  return planId === null && !isSiteAccount(accountId);
}

/** The fields of a form, as the admin API takes them. Its checks name a field that is not accepted. */
export function limitsOf({ field }: ConsoleCall) {
  const [rpm, expires, group] = [field('rpm'), chosen(field, 'expires'), field('group')];
  return {
    name: field('name'),
    grants: OPERATOR_KEY_GRANTS.filter((grant) => field(`grant_${grant}`) !== '') as KeyGrant[],
    rpm: /^\d{1,7}$/.test(rpm) ? Number(rpm) : null,
    // The day itself is part of it.
    expires_at: expires === '' ? null : `${readTypedDay(expires) ?? expires}T23:59:59Z`,
    budgets: readBudgets(field),
    group: group === '' ? null : group,
  };
}

/** Fields of the limits, as they are, or as they were sent. */
export function limitFields(
  { clock, prices }: ConsoleServices,
  { locale, field, fields, problem }: ConsoleCall,
  groups: readonly string[],
  key?: WholeKey,
): Html {
  const { keys: t } = locale.texts.console;
  const record = key?.record;
  const isSent = problem !== undefined && fields.includes('rpm');
  const fieldOf = (name: string, stored: string) => (isSent ? field(name) : stored);
  const hasLimits = record === undefined || hasOwnLimits(record);
  const granted = (grant: KeyGrant) =>
    isSent ? field(`grant_${grant}`) !== '' : (record?.grants.includes(grant) ?? grant === 'extract');
  const expires = record?.expiresAt == null ? '' : new Date(record.expiresAt).toISOString().slice(0, 10);
  const budgets = (key?.budgets ?? []).filter(({ scope }) => scope === 'key').map(budgetText);
  return html`<div class="form-row">${textField({ name: 'name', label: t.name, isRequired: true, maxLength: 100, placeholder: 'nightly jobs', value: fieldOf('name', record?.name ?? '') })}${textField({ name: 'group', id: 'key-group', label: t.group, maxLength: 64, placeholder: groups[0] ?? 'research', suggestions: groups, value: fieldOf('group', record?.groupName ?? '') })}</div>
${hasLimits && html`<fieldset class="field"><legend>${t.grants}</legend><div class="checks">${OPERATOR_KEY_GRANTS.map((grant) => html`<label class="check${grant === 'admin' && ' check-apart'}"><input type="checkbox" name="grant_${grant}" value="on"${granted(grant) && html` checked`}> <span>${t.grantNames[grant]}</span></label>`)}</div></fieldset>`}
${hasLimits && textField({ name: 'rpm', label: t.rpm, type: 'number', hint: t.rpmHint, value: fieldOf('rpm', record ? String(record.rpm ?? '') : '30') })}
${lastDayField({ name: 'expires', label: t.expires, value: isSent ? chosen(field, 'expires') : expires, never: t.noEnd, now: clock.now() }, locale)}
${budgetField({ id: 'key-budget', label: t.budgets, value: isSent ? readBudgets(field) : budgets, currency: prices?.currency }, locale)}`;
}
