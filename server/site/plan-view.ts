import type { Catalogue, FreeTier, Plan } from '../catalogue.js';
import { count, counted, money } from './formats.js';

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
}

/** The free tier, then the plans in the order of the catalogue. */
export function planViews(catalogue: Catalogue): readonly PlanView[] {
  return [freeView(catalogue.freeTier), ...catalogue.plans.map((plan) => planView(plan, catalogue))];
}

/** By its id, where there is no such plan any more. */
export function planName({ plans, freeTier }: Catalogue, id: string): string {
  return [freeTier, ...plans].find((plan) => plan.id === id)?.name ?? id;
}

function freeView({ id, name, requestLimit, rpm, modelAccess }: FreeTier): PlanView {
  const points = [
    counted(requestLimit, 'model request'),
    `Models: ${modelAccess.join(', ')}`,
    `${counted(rpm, 'request')} a minute`,
    'Comes with your first key',
  ];
  return { id, name, points, note: null, price: 'No charge', isFree: true, canBeOrdered: false };
}

function planView(plan: Plan, { prices, publicPriceTablesVisible }: Catalogue): PlanView {
  const { id, name, note, tokenLimit, dailyTokenLimit, requestLimit, imageDailyLimit, durationDays } = plan;
  const points = [
    tokenLimit !== null && `${count(tokenLimit)} tokens`,
    dailyTokenLimit !== null && `${count(dailyTokenLimit)} tokens a day`,
    requestLimit !== null && counted(requestLimit, 'model request'),
    imageDailyLimit !== null && `${counted(imageDailyLimit, 'image')} a day`,
    plan.imageOnly ? 'Images alone' : plan.allModels ? 'All text models' : 'The free models',
    plan.includesAudio && !plan.imageOnly && 'Speech, transcripts and sounds',
    plan.includesImage && !plan.imageOnly && 'Images',
    `${counted(plan.includedRpm, 'request')} a minute`,
    durationDays === 0 ? 'Does not run out by time' : `Good for ${counted(durationDays, 'day')}`,
  ].filter((point) => point !== false);
  const found = prices.find(({ planId }) => planId === id);
  const price = found && publicPriceTablesVisible ? money(found.amount, found.currency) : null;
  return { id, name, points, note, price, isFree: false, canBeOrdered: found !== undefined };
}
