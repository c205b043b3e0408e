/*
 * Incidents of the status page for operators: list, report, update, rename, close. An incident is answered with its
 * updates, newest first, and the state that they name. All rules are those of server/status, which the console and the
 * command line use as well, and each change is in the audit log.
 */

import { optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { INCIDENT_KINDS, INCIDENT_STATES } from '../choices.js';
import { isoTime, parseIsoTime } from '../format/index.js';
import { OneOf, type Route } from '../http/index.js';
import {
  type Incident,
  type IncidentKind,
  type IncidentState,
  MAX_INCIDENT_TEXT,
  MAX_INCIDENT_TITLE,
  stateOfIncident,
} from '../status/index.js';
import { type AdminActor, adminRoute, strict } from './admin-route.js';
import { encodePage, LIST_QUERY, type ListPage, type ListRange, listSchema, rangeOf, readPage } from './lists.js';
import type { AdminServices, Stored } from './services.js';
import { IncidentShape } from './shapes.js';

/** Open and closed ones, the latest start first. */
export function listIncidents(
  { state: { incidents } }: Stored<'incidents'>,
  range: ListRange,
): Promise<ListPage<Incident>> {
  return readPage(
    range,
    (part) => incidents.list({ since: 0, ...part }),
    ({ startedAt: at, id }) => ({ at, id }),
  );
}

/** Ends an incident; one that was closed before stays as it is. @throws GatewayError `invalid_value`. */
export async function closeIncident(
  { state: { incidents } }: Stored<'incidents'>,
  id: string,
  { outcome, actor }: { outcome: string | null } & Pick<AdminActor, 'actor'>,
): Promise<Incident> {
  return known(await incidents.close(id, { outcome, actor }));
}

/** Adds an update, or ends the incident with it. @param state Null: it stays. @throws GatewayError `invalid_value`. */
export async function updateIncident(
  { state: { incidents } }: Stored<'incidents'>,
  id: string,
  update: { state: IncidentState | null; text: string } & Pick<AdminActor, 'actor'>,
): Promise<Incident> {
  return known(await incidents.update(id, update));
}

/** @throws GatewayError `invalid_value`. */
export async function renameIncident(
  { state: { incidents } }: Stored<'incidents'>,
  id: string,
  change: { title: string } & Pick<AdminActor, 'actor'>,
): Promise<Incident> {
  return known(await incidents.rename(id, change));
}

function known(incident: Incident | undefined): Incident {
  if (incident) return incident;
  throw new GatewayError('invalid_value', 'There is no incident with this id.', { param: 'id' });
}

/** An incident for the API and the `--json` output. */
export function describeIncident(incident: Incident) {
  const { id, kind, title, message, updates, outcome, startedAt, endedAt } = incident;
  const last = endedAt === null || outcome === null ? [] : [{ at: endedAt, state: 'resolved', text: outcome }];
  return {
    id,
    kind,
    title,
    message,
    state: stateOfIncident(incident),
    updates: [...last, ...updates].map(({ at, state, text }) => ({ at: isoTime(at), state, text })),
    outcome,
    started_at: isoTime(startedAt),
    ended_at: isoTime(endedAt),
  };
}

const Title = Type.String({
  minLength: 1,
  maxLength: MAX_INCIDENT_TITLE,
  description: 'What is wrong, in a few words.',
});
const Words = Type.String({ minLength: 1, maxLength: MAX_INCIDENT_TEXT });
const NewIncidentBody = Type.Object(
  {
    title: Title,
    kind: optional(Type.Unsafe<IncidentKind>(OneOf(...INCIDENT_KINDS)), 'Default `degraded`.', 'outage'),
    message: optional(Words, 'What users notice, and what is being done.'),
    started_at: optional(
      Type.String({ title: 'a time such as 2026-12-24T08:00:00Z', maxLength: 40 }),
      'When it began or will begin (RFC 3339). Default: now.',
    ),
  },
  strict,
);
const Update = Type.Object(
  {
    text: Type.String({ minLength: 1, maxLength: MAX_INCIDENT_TEXT, description: 'What is known now.' }),
    state: optional(
      Type.Unsafe<IncidentState>(OneOf(...INCIDENT_STATES)),
      'How far the work is; `resolved` ends the incident. Default: as before.',
      'identified',
    ),
  },
  strict,
);
const Closing = Type.Object({ outcome: optional(Words, 'How it ended.') }, strict);

export function incidentRoutes(services: AdminServices): Route[] {
  const { state, clock } = services;
  const answer = { description: 'The incident.', name: 'Incident', schema: IncidentShape };
  const params = { id: { description: 'Id of the incident.', example: 'inc_1f0c93ab' } };
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/incidents',
      summary: 'List incidents',
      description: 'Lists the incidents of the status page, the latest start first.',
      query: LIST_QUERY,
      answer: { description: 'The incidents.', name: 'IncidentList', schema: listSchema(IncidentShape, 'Incidents') },
      run: async ({ query }) => encodePage(await listIncidents(services, rangeOf(query)), describeIncident),
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/incidents',
      summary: 'Report an incident',
      description: 'Shows an incident on the status page until it is closed.',
      body: NewIncidentBody,
      example: { title: 'Images are slow', message: 'Our provider has problems. Jobs take longer.' },
      answer,
      async run({ body: { title, kind = 'degraded', message = null, started_at: started }, by: { actor } }) {
        const startedAt = started === undefined ? clock.now() : readStart(started);
        return describeIncident(await state.incidents.add({ title, kind, message, startedAt, actor }));
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/incidents/:id',
      params,
      summary: 'Rename an incident',
      description: 'Gives an incident another title, also one that has ended.',
      body: Type.Object({ title: Title }, strict),
      example: { title: 'Images and speech are slow' },
      answer,
      errors: ['invalid_value'],
      async run({ param, body: { title }, by: { actor } }) {
        return describeIncident(await renameIncident(services, param('id'), { title, actor }));
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/incidents/:id/updates',
      params,
      summary: 'Post an update of an incident',
      description:
        'Says on the status page what is known now, and how far the work is. One with the state `resolved` ends the incident. An incident has at most 50 updates, and one that has ended takes none.',
      body: Update,
      example: { state: 'identified', text: 'A server of our provider failed. Jobs wait and are not lost.' },
      answer,
      errors: ['invalid_value'],
      async run({ param, body: { text, state = null }, by: { actor } }) {
        return describeIncident(await updateIncident(services, param('id'), { text, state, actor }));
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/incidents/:id/close',
      params,
      summary: 'Close an incident',
      description: 'Ends an incident. One that was closed before stays as it is.',
      body: Closing,
      answer,
      errors: ['invalid_value'],
      async run({ param, body: { outcome = null }, by: { actor } }) {
        return describeIncident(await closeIncident(services, param('id'), { outcome, actor }));
      },
    }),
  ];
}

function readStart(text: string): number {
  const at = parseIsoTime(text);
  if (at !== undefined) return at;
  throw new GatewayError('invalid_value', 'started_at must be a time such as 2026-12-24T08:00:00Z.', {
    param: 'started_at',
  });
}
