import type { PlanPreview } from '../accounts/index.js';
import type { ApiKeyRecord, Grant } from '../keys/index.js';
import { GRANTS } from '../keys/index.js';
import type { Catalogue, FreeTier, Plan } from '../plans/index.js';
import { planGrants } from '../plans/index.js';
import { count, counted, day, money } from './formats.js';
import { type Html, html } from './html.js';

/** A plan as pages show it. */
export interface PlanView {
  id: string;
  name: string;
  /** What one gets, a line each. */
  points: readonly string[];
  note: string | null;
  /** `€12.00`; null where it is not told to everybody. */
  price: string | null;
  isFree: boolean;
  /** False: support is asked. */
  canBeOrdered: boolean;
  /** The plan that the caller has if it is paid now; undefined where that is not known. */
  outcome?: Html;
}

/** The free tier, then the plans in the order of the catalogue. */
export function planViews(catalogue: Catalogue): readonly PlanView[] {
  return [freeView(catalogue.freeTier, catalogue), ...catalogue.plans.map((plan) => planView(plan, catalogue))];
}

/** By its id, where there is no such plan any more. */
export function planName({ plans, freeTier }: Catalogue, id: string): string {
  return [freeTier, ...plans].find((plan) => plan.id === id)?.name ?? id;
}

/** When a plan ends that is paid now, and what becomes of the one before. */
export function describeOutcome(preview: PlanPreview, catalogue: Catalogue): Html {
  const { expiresAt, creditedDays, replacedPlanId, nextPlanId, endsReplaced } = preview;
  const before = replacedPlanId !== null && planName(catalogue, replacedPlanId);
  return html`${expiresAt === null ? 'If it is paid now, it does not end.' : html`If it is paid now, it ends on ${day(expiresAt)}.`}
${before && creditedDays > 0 && ` That includes ${counted(creditedDays, 'day')} for what is left of ${before}.`}
${before && endsReplaced && ` ${before} ends at once; its remaining time is not credited to a plan without an end.`}
${nextPlanId !== null && ` Then ${planName(catalogue, nextPlanId)} continues.`}`;
}

const OPENS: Readonly<Record<Grant, string>> = {
  extract: 'link data',
  images: 'images',
  text: 'text models',
  audio: 'sound models',
};

/** What keys with these grants may do, and what they may not: `images or link data`; empty where there is nothing. */
export function describeGrants(grants: readonly Grant[]): { opened: string; withheld: string } {
  const words = (has: boolean) => GRANTS.filter((grant) => grants.includes(grant) === has).map((grant) => OPENS[grant]);
  return { opened: ALL.format(words(true)), withheld: NONE.format(words(false)) };
}

/** Why a key does not open this, and which plan does. */
export function describeWithheld(
  grant: Grant,
  { name, planId }: Pick<ApiKeyRecord, 'name' | 'planId'>,
  catalogue: Catalogue,
) {
  const { plans, freeTier } = catalogue;
  const opens = (id: string) => planGrants(id, catalogue).includes(grant);
  const words = OPENS[grant];
  if (planId !== null && opens(planId)) return `Your key ${name} is not for ${words}, although your plan is.`;
  const able = [freeTier, ...plans].filter(({ id }) => opens(id)).map((plan) => plan.name);
  const lacks =
    planId === null
      ? `Your key ${name} is not for ${words}.`
      : `Your plan, ${planName(catalogue, planId)}, does not include ${words}.`;
  return `${lacks} ${able.length === 0 ? 'No plan does' : `Included in ${NONE.format(able)}`}.`;
}

const ALL = new Intl.ListFormat('en-GB', { type: 'conjunction' });
const NONE = new Intl.ListFormat('en-GB', { type: 'disjunction' });

function freeView({ id, name, requestLimit, rpm, modelAccess }: FreeTier, catalogue: Catalogue): PlanView {
  const points = [
    counted(requestLimit, 'model request'),
    `Models: ${modelAccess.join(', ')}`,
    ...pointsOf(planGrants(id, catalogue)),
    `${counted(rpm, 'request')} a minute`,
    'Comes with your first key',
  ];
  return { id, name, points, note: null, price: 'No charge', isFree: true, canBeOrdered: false };
}

/** Of what a key opens beside text; and what it does not, so that nobody has to find out. */
function pointsOf(grants: readonly Grant[]): string[] {
  const { withheld } = describeGrants(grants);
  return [
    grants.includes('audio') && 'Speech, transcripts and sounds',
    grants.includes('images') && 'Images',
    grants.includes('extract') && 'Link data',
    withheld !== '' && `No ${withheld}`,
  ].filter((point) => point !== false);
}

function planView(plan: Plan, catalogue: Catalogue): PlanView {
  const { prices, publicPriceTablesVisible } = catalogue;
  const { id, name, note, tokenLimit, dailyTokenLimit, requestLimit, imageDailyLimit, durationDays } = plan;
  const points = [
    tokenLimit !== null && `${count(tokenLimit)} tokens`,
    dailyTokenLimit !== null && `${count(dailyTokenLimit)} tokens a day`,
    requestLimit !== null && counted(requestLimit, 'model request'),
    imageDailyLimit !== null && `${counted(imageDailyLimit, 'image')} a day`,
    !plan.imageOnly && (plan.allModels ? 'All text models' : 'The free models'),
    ...pointsOf(planGrants(id, catalogue)),
    `${counted(plan.includedRpm, 'request')} a minute`,
    durationDays === 0 ? 'Does not expire' : `Valid for ${counted(durationDays, 'day')}`,
  ].filter((point) => point !== false);
  const found = prices.find(({ planId }) => planId === id);
  const price = found && publicPriceTablesVisible ? money(found.amount, found.currency) : null;
  return { id, name, points, note, price, isFree: false, canBeOrdered: found !== undefined };
}
