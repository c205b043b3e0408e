/*
 * The commands that report incidents for the status page, update, rename, close and list them. Visitors see
 * their texts as they were typed. Running servers show a change within 10 seconds.
 */

import { systemClock } from '../../../core/runtime/index.js';
import { describeIncident } from '../../admin/index.js';
import { isoTime, sanitizeForTerminal } from '../../format/index.js';
import type { Settings } from '../../settings/index.js';
import { type Incident, stateOfIncident } from '../../status/index.js';
import { byOperator, limitOf, withNewState, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import { type Outcome, renderRows } from '../output.js';
import type { addIncident, closeIncident, listIncidents, updateIncident } from './gateway-commands.js';

/** Reports an incident; it is open until it is closed. */
export async function addIncidentCommand(
  settings: Settings,
  title: string,
  { kind, message, from }: OptionsOf<typeof addIncident>,
): Promise<Outcome<'Incident'>> {
  const startedAt = from === undefined ? systemClock.now() : readTime(from);
  const { actor } = byOperator(undefined);
  const added = { title, kind: kind ?? 'degraded', message: message ?? null, startedAt, actor } as const;
  const incident = await withNewState(settings, ({ incidents }) => incidents.add(added));
  const text = `Incident ${incident.id} is on the status page. "mediagate incidents close ${incident.id}" ends it.`;
  return { json: describeIncident(incident), text };
}

/** Ends an incident, or says that it had ended before. @throws CommandFailure if there is none with this id. */
export async function closeIncidentCommand(
  settings: Settings,
  id: string,
  { message }: OptionsOf<typeof closeIncident>,
): Promise<Outcome<'Incident'>> {
  const closing = { outcome: message ?? null, actor: byOperator(undefined).actor };
  const incident = known(id, await withState(settings, ({ incidents }) => incidents.close(id, closing)));
  return { json: describeIncident(incident), text: `Incident ${incident.id} ended at ${isoTime(incident.endedAt)}.` };
}

/** Says what is known now. @throws CommandFailure if there is none with this id. */
export async function updateIncidentCommand(
  settings: Settings,
  id: string,
  text: string,
  { state }: OptionsOf<typeof updateIncident>,
): Promise<Outcome<'Incident'>> {
  const update = { text, state: state ?? null, actor: byOperator(undefined).actor };
  const incident = known(id, await withState(settings, ({ incidents }) => incidents.update(id, update)));
  const end = incident.endedAt === null ? '' : `, and the incident ended at ${isoTime(incident.endedAt)}`;
  return { json: describeIncident(incident), text: `The update of ${incident.id} is on the status page${end}.` };
}

/** @throws CommandFailure if there is none with this id. */
export async function renameIncidentCommand(
  settings: Settings,
  id: string,
  title: string,
): Promise<Outcome<'Incident'>> {
  const change = { title, actor: byOperator(undefined).actor };
  const incident = known(id, await withState(settings, ({ incidents }) => incidents.rename(id, change)));
  return { json: describeIncident(incident), text: `Incident ${incident.id} has its new title.` };
}

function known(id: string, incident: Incident | undefined): Incident {
  if (incident) return incident;
  throw new CommandFailure(`There is no incident ${sanitizeForTerminal(id)}; see "incidents list".`);
}

const HEAD = ['ID', 'KIND', 'STARTED', 'ENDED', 'STATE', 'TITLE'];

/** Open and closed ones, the latest first. */
export async function listIncidentsCommand(
  settings: Settings,
  { limit }: OptionsOf<typeof listIncidents>,
): Promise<Outcome<'Incidents'>> {
  const page = { since: 0, limit: limitOf(limit) };
  const listed = await withState(settings, ({ incidents }) => incidents.list(page));
  const rows = listed.map((incident) => [
    ...[incident.id, incident.kind, isoTime(incident.startedAt)],
    incident.endedAt === null ? 'open' : isoTime(incident.endedAt),
    stateOfIncident(incident) ?? '',
    sanitizeForTerminal(incident.title),
  ]);
  return { json: listed.map(describeIncident), text: renderRows(HEAD, rows) || 'There are no incidents.' };
}

/** @throws CommandMistake */
function readTime(text: string): number {
  const at = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(at)) return at;
  throw new CommandMistake('--from must be a day or a time with its zone, e.g. 2026-12-24T08:00Z.');
}
