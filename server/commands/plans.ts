import { grouped } from '../budget-text.js';
import { type PlanKey, planKey } from '../plan-key.js';
import { readCatalogue } from '../plans-file.js';
import type { Settings } from '../settings.js';
import { renderTable } from '../text-table.js';
import { print, printJson } from './output.js';

const HEAD = ['ID', 'NAME', 'TOKENS', 'REQUESTS', 'DAYS', 'RPM', 'GRANTS', 'MODELS'];

/** Prints the plans that keys can be made for. */
export async function plansCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const catalogue = await readCatalogue(settings.plansFile);
  if (json) {
    printJson(catalogue);
    return 0;
  }
  const { freeTierPeriod } = settings;
  const keyOf = (id: string) => planKey(id, { catalogue, freeTierPeriod, accountId: 'local', now: 0 }) as PlanKey;
  const rows = [...catalogue.plans, { ...catalogue.freeTier, tokenLimit: null, durationDays: 0 }].map((plan) => {
    const { grants, rpm, plan: made } = keyOf(plan.id);
    const days = plan.durationDays === 0 ? 'any' : String(plan.durationDays);
    const limits = [limitOf(plan.tokenLimit), limitOf(plan.requestLimit), days, String(rpm)];
    return [plan.id, plan.name, ...limits, grants.join(','), made.models?.join(',') ?? 'all'];
  });
  print(`${renderTable(HEAD, rows)}\n`);
  return 0;
}

function limitOf(limit: number | null): string {
  return limit === null ? 'any' : grouped(limit);
}
