/*
 * The commands that list the plans and grant one to a user without an order.
 */

import { renderBudget } from '../../budgets/index.js';
import { isoTime, renderMoney, renderTable } from '../../format/index.js';
import { suggestName } from '../../names/index.js';
import { type Catalogue, type CatalogueTerms, planTerms, readCatalogue } from '../../plans/index.js';
import type { Settings } from '../../settings/index.js';
import { grouped } from '../../usage/index.js';
import { byOperator, withState } from '../command.js';
import { CommandMistake } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { NoteOptions } from './access-commands.js';
import { findUser } from './users.js';

const HEAD = ['ID', 'NAME', 'TOKENS', 'REQUESTS', 'DAYS', 'RPM', 'GRANTS', 'MODELS', 'PRICE'];
/** Before the price, only if a plan has one beside its fields. */
const BUDGET_COLUMN = 6;

/** The available plans. */
export async function listPlansCommand(settings: Settings): Promise<Outcome<'Plans'>> {
  const catalogue = await readCatalogue(settings.plansFile, settings.freeTierGrants);
  const rows = [...catalogue.plans, { ...catalogue.freeTier, tokenLimit: null, durationDays: 0 }].map((plan) => {
    const { grants, rpm, models } = termsOf(settings, catalogue, plan.id);
    const days = plan.durationDays === 0 ? 'no end' : String(plan.durationDays);
    const limits = [limitOf(plan.tokenLimit), limitOf(plan.requestLimit), days, String(rpm)];
    const price = catalogue.prices.find(({ planId }) => planId === plan.id);
    const renderedPrice = price ? renderMoney(price.amount, price.currency) : '-';
    const stated = catalogue.budgets?.find(({ planId }) => planId === plan.id);
    if (catalogue.budgets) limits.push(stated ? renderBudget(stated.budget) : '-');
    return [plan.id, plan.name, ...limits, grants.join(','), models?.join(',') ?? 'all', renderedPrice];
  });
  const head = catalogue.budgets ? [...HEAD.slice(0, BUDGET_COLUMN), 'BUDGET', ...HEAD.slice(BUDGET_COLUMN)] : HEAD;
  return { json: catalogue, text: renderTable(head, rows) };
}

/** Grants a user a plan without an order; servers follow within seconds. */
export async function grantPlanCommand(
  settings: Settings,
  id: string,
  planId: string,
  { note }: NoteOptions,
): Promise<Outcome<'GrantedPlan'>> {
  const by = byOperator(note);
  const terms = termsOf(settings, await readCatalogue(settings.plansFile, settings.freeTierGrants), planId);
  const { user, plan } = await withState(settings, async (state) => {
    const found = await findUser(state, id);
    return { user: found, plan: await state.accounts.grant({ accountId: found.accountId, terms, ...by }) };
  });
  const expiresAt = isoTime(plan.expiresAt);
  return {
    json: { user: user.id, account: user.accountId, plan: planId, expires_at: expiresAt },
    text: `User ${user.id} has the plan ${planId}${expiresAt === null ? '' : ` to ${expiresAt}`}.`,
  };
}

/** @throws CommandMistake */
export function termsOf({ freeTierPeriod }: Settings, catalogue: Catalogue, planId: string): CatalogueTerms {
  const found = planTerms(planId, { catalogue, freeTierPeriod });
  if (found) return found;
  throw new CommandMistake(`The plan ${planId} is unknown.${suggestName(planId, planIds(catalogue))}`);
}

export function planIds({ plans, freeTier }: Catalogue): string[] {
  return [...plans, freeTier].map(({ id }) => id);
}

function limitOf(limit: number | null): string {
  return limit === null ? 'unlimited' : grouped(limit);
}
