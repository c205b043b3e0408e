import {
  asNumber,
  asString,
  at,
  type SegmentDetails,
  type Transcript,
  type TranscriptSegment,
  type TranscriptWord,
  type Usage,
} from 'mediagate';

/** What an answer in `json` or `verbose_json` says; undefined where it is no transcript. */
export function readTranscript(json: unknown): Transcript | undefined {
  const text = at(json, 'text');
  if (typeof text !== 'string') return undefined;
  const words = listAt(json, 'words').flatMap(readWord);
  const usage = readUsage(json);
  const language = asString(at(json, 'language'));
  const durationSeconds = amount(at(json, 'duration')) ?? usage?.seconds;
  return {
    text,
    segments: listAt(json, 'segments').flatMap(readSegment).sort(byTime),
    ...(words.length > 0 && { words: words.sort(byTime) }),
    ...(language && { language }),
    ...(durationSeconds !== undefined && { durationSeconds }),
    ...(usage && { usage }),
  };
}

function readSegment(node: unknown): TranscriptSegment[] {
  const times = readTimes(node);
  const text = at(node, 'text');
  if (!times || typeof text !== 'string') return [];
  const details = readDetails(node);
  return [{ ...times, text, ...(Object.keys(details).length > 0 && { details }) }];
}

function readWord(node: unknown): TranscriptWord[] {
  const times = readTimes(node);
  const word = at(node, 'word');
  return times && typeof word === 'string' ? [{ ...times, word }] : [];
}

function readTimes(node: unknown): { start: number; end: number } | undefined {
  const start = amount(at(node, 'start'));
  const end = amount(at(node, 'end'));
  // Some models let a segment end before it begins, by rounding.
  return start === undefined || end === undefined ? undefined : { start, end: Math.max(start, end) };
}

function readDetails(node: unknown): SegmentDetails {
  const tokens = at(node, 'tokens');
  const found: { [Name in keyof SegmentDetails]: SegmentDetails[Name] | undefined } = {
    seek: asNumber(at(node, 'seek')),
    tokens: Array.isArray(tokens) && tokens.every(Number.isSafeInteger) ? tokens : undefined,
    temperature: asNumber(at(node, 'temperature')),
    averageLogProbability: asNumber(at(node, 'avg_logprob')),
    compressionRatio: asNumber(at(node, 'compression_ratio')),
    noSpeechProbability: asNumber(at(node, 'no_speech_prob')),
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

/** By tokens or by seconds, whichever it is billed by. */
function readUsage(json: unknown): Usage | undefined {
  const found: [keyof Usage, number | undefined][] = [
    ['inputTokens', amount(at(json, 'usage', 'input_tokens'))],
    ['outputTokens', amount(at(json, 'usage', 'output_tokens'))],
    ['totalTokens', amount(at(json, 'usage', 'total_tokens'))],
    ['seconds', amount(at(json, 'usage', 'seconds'))],
  ];
  const known = found.filter(([, value]) => value !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

function amount(value: unknown): number | undefined {
  const number = asNumber(value);
  return number !== undefined && Number.isFinite(number) && number >= 0 ? number : undefined;
}

function listAt(json: unknown, name: string): readonly unknown[] {
  const list = at(json, name);
  return Array.isArray(list) ? list : [];
}

function byTime(one: { start: number }, other: { start: number }): number {
  return one.start - other.start;
}
