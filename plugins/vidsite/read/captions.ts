import { asArray, asString, at, type MediaEntry, toIsoTime } from 'mediagate';
import { absoluteUrl, shownText } from './text.js';

/** Experiments under which the subtitle service answers only with a token of the player's. */
const TOKEN_MARKS: ReadonlySet<string> = new Set(['xpe', 'xpv']);

export interface CaptionsReading {
  entries: MediaEntry[];
  /** The language that was heard by a machine, which is the language spoken. */
  spoken?: string;
  limitations: string[];
}

/** Reads `captions`: one WebVTT address for each track. */
export function parseCaptions(captions: unknown): CaptionsReading {
  const tracks = asArray(at(captions, 'playerCaptionsTracklistRenderer', 'captionTracks')) ?? [];
  const entries: MediaEntry[] = [];
  let spoken: string | undefined;
  let withheld = false;
  for (const track of tracks) {
    const address = absoluteUrl(at(track, 'baseUrl'));
    const language = asString(at(track, 'languageCode'));
    const auto_generated = at(track, 'kind') === 'asr';
    if (auto_generated) spoken ??= language;
    if (!address) continue;
    const marks = /[?&]exp=([^&]*)/.exec(address)?.[1] ?? '';
    if (marks.split(/,|%2C/i).some((mark) => TOKEN_MARKS.has(mark))) {
      withheld = true;
      continue;
    }
    const expires_at = toIsoTime(/[?&]expire=(\d{10})(?!\d)/.exec(address)?.[1]);
    const label = shownText(at(track, 'name'));
    entries.push({
      url: asWebVtt(address),
      kind: 'subtitle',
      mime: 'text/vtt',
      auto_generated,
      ...(language && { language }),
      ...(label && { label }),
      ...(expires_at && { expires_at }),
    });
  }
  return { entries, ...(spoken && { spoken }), limitations: withheld ? ['subtitles_withheld'] : [] };
}

/** The format is not among the signed parameters; the others keep their spelling. */
function asWebVtt(address: string): string {
  const plain = address.replace(/([?&])fmt=[^&]*&?/, '$1').replace(/[?&]$/, '');
  return `${plain}${plain.includes('?') ? '&' : '?'}fmt=vtt`;
}
