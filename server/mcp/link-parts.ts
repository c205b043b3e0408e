/*
 * What a result shows of a document: the parts that the caller names, without fields that are null. The JSON of a cached
 * document is made once for its latest choice of parts, both as it is and as it stands in a text, and cached by the
 * identity of the extraction, as its route caches its own. Parts with links that each answer makes anew (`media`), a
 * transcript of our own, and results that must be shortened are made for each call.
 *
 * Gain: a call of `get_link_data` neither parses the answer of its route nor encodes the document twice. With the lighter
 * calls inside of the process (`route-call.ts`) a cached link takes 0.95 ms of CPU where it took 2.8 ms, both under load.
 */

import { encodeExtraction, encodePublic, type LinkAnswer } from '../links/index.js';
import { encodeReady, outsideResult, type ReadyJson, readyResult, type ToolResult, withoutNulls } from './results.js';
import type { ToolInput } from './tool.js';

/** What a caller may ask for, each with the fields of a document that have it. */
export const PARTS = {
  common: ['common', 'product'],
  metrics: ['metrics'],
  media: ['media'],
  reviews: ['reviews'],
  transcript: ['transcript'],
} as const satisfies Record<string, readonly string[]>;

export type PartName = keyof typeof PARTS;
export const NAMES = Object.keys(PARTS) as PartName[];
const DEFAULT_PARTS: readonly PartName[] = ['common', 'metrics'];

export function partsOf({ fields }: ToolInput): readonly PartName[] {
  return (fields as readonly PartName[] | undefined) ?? DEFAULT_PARTS;
}

// biome-ignore lint/suspicious/noExplicitAny: the documents of all platforms
export type Answer = any;

/** The chosen parts of a document. */
function pick(answer: Answer, parts: readonly PartName[]): Record<string, unknown> {
  const { platform, input_url, extraction_method, limitations } = answer;
  return { platform, input_url, extraction_method, data: pickData(answer.data, parts), limitations };
}

function pickData(document: Answer, parts: readonly PartName[]): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  for (const part of parts) {
    for (const name of PARTS[part]) {
      const value = document?.[name];
      if (value === undefined || value === null) continue;
      data[name] = name === 'product' && !parts.includes('media') ? without(value, 'media') : value;
    }
  }
  return data;
}

function without(value: Answer, name: string): Answer {
  if (typeof value !== 'object' || value === null) return value;
  const { [name]: _, ...rest } = value;
  return rest;
}

/** The result of an answer of the route. */
export function documentResult(answer: Answer, parts: readonly PartName[]): ToolResult {
  return outsideResult(summaryOf(answer), pick(answer, parts));
}

function summaryOf({ platform, limitations }: { platform: string; limitations: readonly string[] }): string {
  const notes = limitations.length > 0 ? ` Notes: ${limitations.length}, in limitations.` : '';
  return `Data of a public link (${platform}).${notes}`;
}

/** The items of a batch, as its route or the lines of its results have them. */
export function batchResult(items: readonly Answer[], parts: readonly PartName[]): ToolResult {
  const shown = items.map(({ url, ok, result, error }) =>
    ok === false || !result
      ? { url, ok: false, ...(error && { error: { code: error.code, message: error.message } }) }
      : { url, ok: true, ...pick(result, parts) },
  );
  const failed = shown.filter(({ ok }) => !ok).length;
  return outsideResult(`Data of ${shown.length} public links; ${failed} failed.`, { items: shown });
}

/** By the identity of an extraction, its latest choice of parts. */
const encoded = new WeakMap<object, { choice: string; json: ReadyJson }>();

/** The same result as {@link documentResult}, of what the answer of the route is made from. */
export function sourceResult({ result, additions }: LinkAnswer, parts: readonly PartName[]): ToolResult {
  const { platform, inputUrl: input_url, method: extraction_method } = result;
  const limitations = [...result.limitations, ...(additions.notes ?? [])];
  const isSame = !parts.includes('media') && !additions.data && !result.mediaLinks;
  const ready =
    isSame &&
    readyResult(summaryOf({ platform, limitations }), {
      before: { platform, input_url, extraction_method },
      data: dataOf(result, parts),
      after: { limitations },
    });
  return ready || documentResult(JSON.parse(encodeExtraction(result, additions).toString()), parts);
}

function dataOf({ identity, data }: LinkAnswer['result'], parts: readonly PartName[]): ReadyJson {
  const choice = parts.join();
  const known = encoded.get(identity);
  if (known?.choice === choice) return known.json;
  const json = encodeReady(withoutNulls(pickData(JSON.parse(encodePublic(data)), parts)));
  encoded.set(identity, { choice, json });
  return json;
}
