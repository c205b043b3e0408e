/*
 * What operators may set of keys, for the admin API, the console and the commands: a name, grants, a rate limit and
 * budgets. A key of a plan stays within the plan, and the grant `admin` goes only to a key without one. Each error names
 * the field of the API; a command puts its option in the place of the field.
 */

import { GatewayError } from '../../core/runtime/index.js';
import { BUDGET_FORM, type BudgetAmount, parseBudget } from '../budgets/index.js';
import { isVisible } from '../format/index.js';
import { type ApiKeyRecord, isPlanKey, type KeyGrant, OPERATOR_KEY_GRANTS } from '../keys/index.js';
import type { PlanKey } from '../plans/index.js';
import type { Stored } from './services.js';

const DEFAULT_RPM = 30;
/** Requests per minute that a key may be given. */
export const MAX_RPM = 1_000_000;

/** A name without the spaces around it: it is displayed in terminals and tables. @throws GatewayError `invalid_value`. */
export function checkName(given: string): string {
  const name = given.trim();
  if (name.length <= 100 && isVisible(name)) return name;
  throw new GatewayError('invalid_value', 'name must have 1 to 100 visible characters.', { param: 'name' });
}

/** Grants of a new key: those of the plan, and additional ones. Default: `extract` without a plan. @throws GatewayError `invalid_value`. */
export function newGrants(given: readonly KeyGrant[] | undefined, ofPlan: PlanKey | undefined): KeyGrant[] {
  const wanted = given ?? (ofPlan ? [] : (['extract'] as const));
  if (ofPlan) refuseAdmin(wanted);
  return OPERATOR_KEY_GRANTS.filter((grant) => wanted.includes(grant) || ofPlan?.grants.includes(grant));
}

/** Grants beyond those of the plan were given when the key was made; a change adds none. @throws GatewayError `invalid_value`. */
export function changedGrants(
  given: readonly KeyGrant[],
  record: ApiKeyRecord,
  ofPlan: PlanKey | undefined,
): KeyGrant[] {
  if (isPlanKey(record)) refuseAdmin(given);
  const allowed = ofPlan && [...ofPlan.grants, ...record.grants];
  const beyond = given.find((grant) => allowed && !allowed.includes(grant));
  if (beyond === undefined) return OPERATOR_KEY_GRANTS.filter((grant) => given.includes(grant));
  const message = `grants must be among those of the plan (${ofPlan?.grants.join(', ')}), without ${beyond}.`;
  throw new GatewayError('invalid_value', message, { param: 'grants' });
}

function refuseAdmin(given: readonly KeyGrant[]): void {
  if (!given.includes('admin')) return;
  const message = 'grants must be without admin: only a key without a plan may open the admin API.';
  throw new GatewayError('invalid_value', message, { param: 'grants' });
}

/** Requests per minute; null is unlimited. Default: those of the plan, else 30. @throws GatewayError `invalid_value`. */
export function limitRpm(given: number | null | undefined, ofPlan: PlanKey | undefined): number | null {
  if (given === undefined) return ofPlan?.rpm ?? DEFAULT_RPM;
  if (given === null && !ofPlan) return null;
  const max = ofPlan?.maxRpm ?? MAX_RPM;
  if (given !== null && Number.isInteger(given) && given >= 0 && given <= max) return given;
  const otherwise = ofPlan ? ', which the plan allows' : ', or unlimited';
  throw new GatewayError('invalid_value', `rpm must be a whole number from 0 to ${max}${otherwise}.`, { param: 'rpm' });
}

/** Budgets, each once for its unit and period. @throws GatewayError `invalid_value`. */
export function parseBudgets(texts: readonly string[]): BudgetAmount[] {
  const amounts = texts.map((text) => {
    const amount = parseBudget(text);
    if (amount) return amount;
    throw invalidBudgets(`must be ${BUDGET_FORM}; the period is day, month or lifetime (UTC).`);
  });
  const kinds = amounts.map(({ unit, resets, currency }) => [unit, resets, currency].join());
  if (new Set(kinds).size === kinds.length) return amounts;
  throw invalidBudgets('must be given once for each unit and period.');
}

/** Requests under a budget in a currency without prices would all be refused. @throws GatewayError `invalid_value`. */
export async function checkCurrency(
  { usage }: Stored<'usage'>['state'],
  amounts: readonly BudgetAmount[],
): Promise<void> {
  const inMoney = amounts.find(({ currency }) => currency !== null);
  const ofPrices = inMoney && (await usage.currency());
  if (ofPrices === undefined || inMoney?.currency === ofPrices) return;
  throw invalidBudgets(
    `must be in ${ofPrices}, as the prices are (PRICES_FILE, PRICES_CURRENCY), and not in ${inMoney?.currency}.`,
  );
}

function invalidBudgets(problem: string): GatewayError {
  return new GatewayError('invalid_value', `budgets ${problem}`, { param: 'budgets' });
}
