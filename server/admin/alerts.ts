/*
 * Alerts for operators: list and acknowledge. What they are about is in server/alerts.
 */

import { Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  ALERT_KINDS,
  ALERT_STATES,
  type Alert,
  type AlertFilter,
  type AlertKind,
  describeAlert,
} from '../alerts/index.js';
import { OneOf, type Route } from '../http/index.js';
import { type AdminActor, adminRoute, NoteBody } from './admin-route.js';
import { encodePage, LIST_QUERY, type ListPage, type ListRange, listSchema, rangeOf, readPage } from './lists.js';
import type { AdminServices, Stored } from './services.js';
import { AlertShape } from './shapes.js';

export const ALERT_FILTERS = ['active', ...ALERT_STATES] as const;

/** The latest first. */
export function listAlerts(
  { state: { alerts } }: Stored<'alerts'>,
  filter: AlertFilter,
  range: ListRange,
): Promise<ListPage<Alert>> {
  return readPage(
    range,
    (part) => alerts.list({ ...filter, ...part }),
    ({ openedAt: at, id }) => ({ at, id }),
  );
}

/** Acknowledges an open alert; another one stays as it is. @throws GatewayError `invalid_value`. */
export async function acknowledgeAlert(
  { state: { alerts } }: Stored<'alerts'>,
  id: string,
  by: AdminActor,
): Promise<Alert> {
  const alert = await alerts.acknowledge(id, by);
  if (alert) return alert;
  throw new GatewayError('invalid_value', 'There is no alert with this id.', { param: 'id' });
}

export function alertRoutes(services: AdminServices): Route[] {
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/alerts',
      summary: 'List alerts',
      description: 'Lists what needs an operator: budgets, providers, errors, bank money, disk, certificate, probes.',
      query: {
        state: {
          schema: Type.Unsafe<(typeof ALERT_FILTERS)[number]>(OneOf(...ALERT_FILTERS)),
          description: 'Only those in this state; `active`: open and acknowledged ones.',
        },
        kind: { schema: Type.Unsafe<AlertKind>(OneOf(...ALERT_KINDS)), description: 'Only this kind.' },
        ...LIST_QUERY,
      },
      answer: { description: 'The alerts.', name: 'AlertList', schema: listSchema(AlertShape, 'Alerts') },
      async run({ query: { limit, after, ...filter } }) {
        return encodePage(await listAlerts(services, filter, rangeOf({ limit, after })), describeAlert);
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/alerts/:id/acknowledge',
      params: { id: { description: 'Id of the alert.', example: 'alr_1f0c93ab' } },
      summary: 'Acknowledge an alert',
      description: 'Ends the daily repetition of an open alert. It closes by itself when its condition is over.',
      body: NoteBody,
      answer: { description: 'The alert.', name: 'Alert', schema: AlertShape },
      errors: ['invalid_value'],
      run: async ({ param, by }) => describeAlert(await acknowledgeAlert(services, param('id'), by)),
    }),
  ];
}
