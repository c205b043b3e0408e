import type { PostData } from 'mediagate';
import type { PostClimb } from './outcomes.js';
import { isCut } from './read/text.js';

/** What the caller should know about the result, stable words first. */
export function limitationsOf(data: PostData, { limitations, restriction }: PostClimb, isVideo: boolean): string[] {
  const { common, media, metrics, provenance } = data;
  const precision = Object.entries(provenance?.precision ?? {});
  const rounded = precision.filter(([, how]) => how === 'rounded').map(([metric]) => metric);
  const hidden = precision.filter(([, how]) => how === 'hidden').map(([metric]) => metric);
  const counted = (['likes', 'comments', 'shares', 'views'] as const).some((metric) => metrics[metric] !== undefined);
  return [
    ...new Set([
      ...(restriction ? [restriction.code] : []),
      ...limitations,
      ...(common.live_status === 'live' ? ['live_now'] : []),
      ...(common.live_status === 'upcoming' ? ['live_upcoming'] : []),
      ...(isVideo && media.video_urls.length === 0 ? ['metadata_only'] : []),
      ...(common.caption && isCut(common.caption) ? ['caption_truncated'] : []),
      ...(counted ? [] : ['stats_not_shown']),
      ...(hidden.length > 0 ? [`stats_hidden: ${hidden.join(', ')}`] : []),
      ...(rounded.length > 0 ? [`stats_rounded: ${rounded.join(', ')}`] : []),
    ]),
  ];
}
