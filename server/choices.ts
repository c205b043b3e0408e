/*
 * Kinds and states that the API, the console and the command line offer. They are apart from the services, since the
 * declarations of commands load no service.
 */

import type { JobState } from '../core/contracts/index.js';
import type { JobKind } from '../core/jobs/index.js';

export const JOB_KINDS = ['image', 'extraction', 'batch', 'transcript'] as const satisfies readonly JobKind[];
export const JOB_STATES = [
  'queued',
  'running',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly JobState[];

export const ORDER_STATES = [
  'pending',
  'underpaid',
  'paid',
  'expired',
  'cancelled',
  'refunded',
  'needs_review',
] as const;

export const INCIDENT_KINDS = ['outage', 'degraded', 'maintenance'] as const;
/** How far the work is. The last one is that of an incident that has ended. */
export const INCIDENT_STATES = ['investigating', 'identified', 'monitoring', 'resolved'] as const;
