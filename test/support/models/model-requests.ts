/** Requests to models, and their settlement, in short form. */

import { randomUUID } from 'node:crypto';
import type { Budget } from '../../../server/budgets/tables.js';
import type { AdmissionRequest } from '../../../server/usage/admissions.js';
import type { Settlement } from '../../../server/usage/usage-log.js';

/** A request of a model route as tests make it. */
export const CHAT = {
  keyId: 'key1',
  accountId: 'local',
  route: '/v1/chat/completions',
  model: 'm-5.5',
} as const satisfies AdmissionRequest;

export function budget(change: Partial<Budget> = {}): Required<Budget> {
  return {
    id: `budget_${randomUUID()}`,
    accountId: 'local',
    planId: 'token_30m',
    scope: 'plan',
    subject: '',
    tokenLimit: null,
    dailyTokenLimit: null,
    requestLimit: null,
    costLimit: null,
    currency: null,
    resets: 'never',
    expiresAt: null,
    createdAt: Date.UTC(2026, 0, 1),
    ...change,
  };
}

export function settlement(change: Partial<Settlement> = {}): Settlement {
  return {
    ...CHAT,
    requestId: randomUUID(),
    status: 200,
    latencyMs: 120,
    usage: { inputTokens: 10, outputTokens: 20 },
    at: Date.UTC(2026, 0, 1, 12),
    ...change,
  };
}
