/*
 * Prepares the data of the page of keys: each key with its limits, budgets and usage of 30 days, and what a key may be
 * limited to. An account that has no plan yet is shown the free tier, which comes with its first key. Models are those
 * that are served and that the plan allows, without aliases.
 */

import type { Gateway } from 'mediagate';
import type { AccountRecord, AccountView, OverviewKey, UserRecord } from '../accounts/index.js';
import { dayOf } from '../format/index.js';
import { effectiveModels, isValidKey, keyState } from '../keys/index.js';
import { orderModels } from '../models/index.js';
import { type Catalogue, type PlanTermsOptions, termsAt } from '../plans/index.js';
import { addUp, isModelAllowed, type UsageTotal } from '../usage/index.js';
import type { LimitChoices } from './components/key-limits.js';
import type { ChangedKey } from './components/keys.js';
import type { Locale } from './language/index.js';
import type { KeyDetails, KeysView } from './pages/keys.js';
import { planName, spentOf } from './views.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const SHOWN_DAYS = 30;

export interface KeysSources extends PlanTermsOptions {
  view: AccountView;
  gateway: Pick<Gateway, 'models' | 'resolveModel'>;
  catalogue: Catalogue;
  /** Milliseconds since 1970. */
  now: number;
  /** Ids of keys that the user has just revoked or saved. */
  changed: Partial<Record<ChangedKey['what'], string>>;
}

/** @throws GatewayError `upstream_unavailable`. */
export async function loadKeys(
  sources: KeysSources,
  user: UserRecord,
  locale: Locale,
): Promise<Omit<KeysView, 'groups'>> {
  const { view, catalogue, now, changed } = sources;
  const range = { from: dayOf(now - (SHOWN_DAYS - 1) * DAY_MS), to: dayOf(now) };
  const { account, keys, totals, currency } = await view.overview(user, range);
  const byKey = Map.groupBy(totals, ({ keyId }) => keyId);
  const details = keys.map((key) => describe(key, byKey.get(key.record.id) ?? [], { now, currency, locale }));
  const named = (['revoked', 'saved'] as const).flatMap((what) => {
    const found = details.find(({ id, state }) => id === changed[what] && (what === 'saved' || state === 'revoked'));
    return found ? [{ what, name: found.name }] : [];
  });
  return {
    planName: planName({ catalogue, locale }, account.plan?.planId ?? catalogue.freeTier.id),
    keys: details,
    choices: choicesOf(sources, account, keys, currency),
    range: { ...range, days: SHOWN_DAYS },
    changed: named[0] ?? null,
  };
}

function describe(
  { record, budgets }: OverviewKey,
  totals: readonly UsageTotal[],
  { now, currency, locale }: { now: number; currency: string | undefined; locale: Locale },
): KeyDetails {
  const { id, name, createdAt, lastUsedAt, expiresAt, grants, own, rpm, planRpm, replacedBy } = record;
  const used = addUp(totals);
  const { requests, failed } = used;
  return {
    ...{ id, name, createdAt, lastUsedAt, expiresAt, grants, budgets, rpm, replacedBy },
    ...(own && { own }),
    ...(planRpm !== undefined && { planRpm }),
    state: keyState(record, now),
    models: effectiveModels(record),
    used: { requests, failed, spent: spentOf(used, currency, locale) },
  };
}

function choicesOf(
  { gateway, now, ...plans }: KeysSources,
  { plan }: AccountRecord,
  keys: readonly OverviewKey[],
  currency: string | undefined,
): LimitChoices {
  const terms = termsAt(plan, now, plans);
  const { grants, rpm, models } = terms;
  const served = gateway.models().filter(({ aliasOf }) => aliasOf === undefined);
  const allowed = served.filter(({ id }) => isModelAllowed({ models }, id, (name) => gateway.resolveModel(name)));
  // A plan that follows is in the keys.
  const valid = keys.filter(({ record }) => isValidKey(record, now));
  const isFollowed = valid.some(({ record: { followingPlans = [] } }) => followingPlans.length > 0);
  const planEnd = plan !== null && terms === plan && !isFollowed ? plan.expiresAt : null;
  return {
    ...{ grants, rpm, planEnd, currency },
    models: orderModels(allowed.map(({ id }) => id)),
    today: dayOf(now),
  };
}
