/*
 * The commands that report incidents for the status page, close them and list them. Visitors see
 * their texts as they were typed. Running servers show a change within 10 seconds.
 */

import { systemClock } from '../../../core/runtime/index.js';
import { describeIncident } from '../../admin/index.js';
import { isoTime, sanitizeForTerminal } from '../../format/index.js';
import type { Settings } from '../../settings/index.js';
import { byOperator, limitOf, withNewState, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import { type Outcome, renderRows } from '../output.js';
import type { addIncident, closeIncident, listIncidents } from './gateway-commands.js';

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
  const incident = await withState(settings, ({ incidents }) => incidents.close(id, closing));
  if (!incident) throw new CommandFailure(`There is no incident ${sanitizeForTerminal(id)}; see "incidents list".`);
  return { json: describeIncident(incident), text: `Incident ${incident.id} ended at ${isoTime(incident.endedAt)}.` };
}

const HEAD = ['ID', 'KIND', 'STARTED', 'ENDED', 'TITLE'];

/** Open and closed ones, the latest first. */
export async function listIncidentsCommand(
  settings: Settings,
  { limit }: OptionsOf<typeof listIncidents>,
): Promise<Outcome<'Incidents'>> {
  const page = { since: 0, limit: limitOf(limit) };
  const listed = await withState(settings, ({ incidents }) => incidents.list(page));
  const rows = listed.map(({ id, kind, startedAt, endedAt, title }) => [
    ...[id, kind, isoTime(startedAt)],
    endedAt === null ? 'open' : isoTime(endedAt),
    sanitizeForTerminal(title),
  ]);
  return { json: listed.map(describeIncident), text: renderRows(HEAD, rows) || 'There are no incidents.' };
}

/** @throws CommandMistake */
function readTime(text: string): number {
  const at = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(at)) return at;
  throw new CommandMistake('--from must be a day or a time with its zone, e.g. 2026-12-24T08:00Z.');
}
