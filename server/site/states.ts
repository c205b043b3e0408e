import type { JobState } from 'mediagate';
import type { OrderState } from '../payments/index.js';
import type { Html } from './html.js';
import { badge, type Tone } from './pieces.js';

const JOB_STATES: Readonly<Record<JobState, readonly [words: string, tone: Tone]>> = {
  queued: ['Queued', 'plain'],
  running: ['Running', 'warn'],
  completed: ['Completed', 'good'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', 'plain'],
};

const ORDER_STATES: Readonly<Record<OrderState, readonly [words: string, tone: Tone]>> = {
  pending: ['Awaiting payment', 'warn'],
  underpaid: ['Partly paid', 'warn'],
  paid: ['Paid', 'good'],
  expired: ['Expired', 'plain'],
  cancelled: ['Cancelled', 'plain'],
  refunded: ['Refunded', 'plain'],
  needs_review: ['Under review', 'warn'],
};

export function jobBadge(state: JobState): Html {
  return badge(...JOB_STATES[state]);
}

export function orderWords(state: OrderState): string {
  return ORDER_STATES[state][0];
}

export function orderBadge(state: OrderState): Html {
  return badge(...ORDER_STATES[state]);
}
