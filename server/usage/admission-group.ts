import type { Script } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { SlotTable } from '../limits/index.js';
import { openWindows } from '../limits/index.js';
import type { Admission, AdmissionRequest } from './admissions.js';
import { refusalOf, reserve } from './budget-account.js';
import type { BudgetTable } from './budget-table.js';
import type { ReservationsTable } from './tables.js';

export interface AdmissionInput extends Omit<AdmissionRequest, 'reserve'> {
  reserve?: NewReservation;
}

interface NewReservation extends NonNullable<AdmissionRequest['reserve']> {
  id: string;
}

export type ReservationRow = Omit<ReservationsTable, 'runner_id'>;

export interface AdmissionTables {
  slots: SlotTable;
  budgetTable: BudgetTable;
  /** Writes reservations down, with who holds them. */
  hold(rows: readonly ReservationRow[]): Script<void>;
}

/**
 * Judges requests one after the other, each knowing what those before it took; reads what all of them need first and writes
 * what all of them change last. Nothing is taken for those that are refused.
 */
export function* admitGroup(
  wishes: readonly AdmissionInput[],
  { slots, budgetTable, hold }: AdmissionTables,
): Script<(Admission | GatewayError)[]> {
  const budgetIds = wishes.flatMap(({ reserve: wanted }) => (wanted ? [wanted.budgetId] : []));
  const budgets = budgetIds.length > 0 ? yield* budgetTable.lock(budgetIds) : undefined;
  const windows = yield* openWindows(
    slots,
    wishes.map(({ slot }) => slot),
  );
  const reservations: ReservationRow[] = [];

  function* judge({
    keyId,
    accountId,
    route,
    model,
    slot,
    reserve: wanted,
  }: AdmissionInput): Script<Admission | GatewayError> {
    const budget = wanted && budgets?.find(wanted.budgetId);
    if (wanted && budgets) {
      // First, so that a request which no waiting helps costs no slot.
      const refusal = budget ? refusalOf(budget, wanted.tokens, budgets.at) : noBudget();
      if (refusal) return refusal;
    }
    const window = slot && windows.of(slot);
    if (slot && window && !window.has(slot)) return { slot: yield* window.look(slot) };
    const answer = slot && window?.take(slot);
    if (!wanted || !budgets || !budget) return answer ? { slot: answer } : {};
    budgets.change(reserve(budget, wanted.tokens));
    const { id, tokens } = wanted;
    const owner = { budget_id: budget.id, key_id: keyId, account_id: accountId };
    reservations.push({ id, ...owner, route, model, tokens, period: budget.period, at: budgets.at });
    return { reservation: id, ...(answer && { slot: answer }) };
  }

  const verdicts: (Admission | GatewayError)[] = [];
  for (const wish of wishes) verdicts.push(yield* judge(wish));
  yield* windows.save();
  if (budgets) yield* budgets.save();
  if (reservations.length > 0) yield* hold(reservations);
  return verdicts;
}

function noBudget(): GatewayError {
  return new GatewayError('insufficient_quota', 'The budget of this API key is not there.');
}
