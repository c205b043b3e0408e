import type { Transcript, TranscriptSegment } from 'mediagate';

type Subtitled = Pick<Transcript, 'text' | 'segments'> & { durationSeconds: number };

/** SubRip. */
export function encodeSrt(transcript: Subtitled): string {
  return cuesOf(transcript)
    .map(
      ({ start, end, text }, index) => `${index + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${lineOf(text)}\n\n`,
    )
    .join('');
}

/** WebVTT. */
export function encodeVtt(transcript: Subtitled): string {
  const cues = cuesOf(transcript).map(
    ({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${escapeCue(lineOf(text))}\n\n`,
  );
  return `WEBVTT\n\n${cues.join('')}`;
}

/** A model that gives no times has said one thing in all of it. */
function cuesOf({ text, segments, durationSeconds }: Subtitled): readonly TranscriptSegment[] {
  const cues = segments.length > 0 ? segments : [{ start: 0, end: durationSeconds, text }];
  return cues.filter((cue) => cue.text.trim() !== '');
}

function clock(seconds: number, point: ',' | '.'): string {
  const total = Math.round(seconds * 1000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const whole = `${two(total / 3_600_000)}:${two((total / 60_000) % 60)}:${two((total / 1000) % 60)}`;
  return `${whole}${point}${String(total % 1000).padStart(3, '0')}`;
}

/** An empty line would end the cue. */
function lineOf(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== '').join('\n');
}

function escapeCue(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
