import type { PostData } from 'mediagate';
import { noteOf, type VideoClimb, type VideoOutcome } from './outcomes.js';

/** Rungs whose "no" tells why the item cannot be played. */
const TELLING = ['innertube_player', 'innertube_microformat', 'watch_page'];

/** Takes out what only holds together with something that the merged document does not have. */
export function tidy(data: PostData): PostData {
  if (data.common.live_status === 'live' || data.common.is_live) return data;
  const { concurrent_viewers: _watching, ...metrics } = data.metrics;
  return { ...data, metrics };
}

/** What the caller should know about the result, stable words first. */
export function limitationsOf(
  data: PostData,
  { limitations, verdict }: VideoClimb,
  outcomes: ReadonlyMap<string, VideoOutcome>,
): string[] {
  const refusals = TELLING.flatMap((rung) => {
    const outcome = outcomes.get(rung);
    return outcome?.kind === 'definitive' ? [noteOf(outcome.code)] : [];
  });
  const files = (data.media.entries ?? []).filter(({ kind }) => kind !== 'image' && kind !== 'subtitle');
  const precision = Object.entries(data.provenance?.precision ?? {});
  const metrics = (how: string) => precision.filter(([, one]) => one === how).map(([metric]) => metric);
  const rounded = metrics('rounded');
  const hidden = metrics('hidden').filter((metric) => !(metric in data.metrics));
  return [
    ...new Set([
      ...(verdict ? [noteOf(verdict.code)] : []),
      ...refusals,
      ...limitations,
      ...(data.common.live_status === 'live' ? ['live_now'] : []),
      ...(files.length === 0 ? ['metadata_only'] : []),
      ...(files.some(({ bound_to }) => bound_to?.includes('ip')) ? ['media_ip_bound'] : []),
      ...(rounded.length > 0 ? [`stats_rounded: ${rounded.join(', ')}`] : []),
      ...(hidden.length > 0 ? [`stats_hidden: ${hidden.join(', ')}`] : []),
    ]),
  ];
}
