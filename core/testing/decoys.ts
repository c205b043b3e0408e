/*
 * Checks that an extractor takes nothing from another item. Every reply that contains the item's id gets another item
 * beside it, with other ids and numbers that begin differently, so they can be recognized in a result. Then all
 * replies, and each single one, are about another item. The result must contain none of these numbers, ids or texts,
 * and must otherwise be the same. A sample whose replies cannot be changed says why in `noDecoys`.
 */

import type { Extraction } from '../contracts/index.js';
import {
  type ExtractorDefinition,
  type FoundSample,
  gatewayErrorOf,
  idsOf,
  readIntact,
  runSample,
} from './extraction-run.js';
import { compare } from './matchers.js';
import { createReplay, type Exchange } from './replay.js';
import { isRecord, mapLeaves, NestedJson, type Part, putTogether, type ReplyParts, takeApart } from './reply-parts.js';
import { reportAll } from './runner.js';

/**
 * Adds another item beside the requested one in every reply that contains it; then makes all replies, and each single
 * one, about another item. Its data must not get into the result, and no text of it either.
 */
export async function resistsDecoys(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const { exchanges, extraction, itemIds } = await readIntact(definition, sample);
  const decoyed = exchanges.map((exchange) => withDecoys(takeApart(exchange), itemIds));
  const decoys = decoyed.reduce((sum, reply) => sum + reply.decoys, 0);
  if (decoys === 0) {
    reportAll(sample.noDecoys ? [] : [`no reply bears ${sample.id}, so no decoy was put in; "noDecoys" says why`]);
    return;
  }
  const known = new Set([...textNumbers(exchanges), ...countsIn(extraction)]);
  const run = async (replies: readonly Exchange[], where: string) => {
    const ran = await runSample(definition, sample, createReplay(replies));
    gatewayErrorOf(ran);
    return { ...ran, problems: ran.extraction ? takenFrom(ran.extraction, replies, known, sample.id, where) : [] };
  };

  const beside = await run(
    decoyed.map((reply) => putTogether(reply)),
    'another item beside it',
  );
  const problems = [...beside.problems];
  if (!beside.extraction) problems.push('another item beside it: there is no result');
  else problems.push(...differences(extraction, beside.extraction).map((line) => `another item beside it: ${line}`));

  const speaking = exchanges.filter(({ body }) => body.includes(sample.id));
  for (const chosen of [speaking, ...speaking.map((exchange) => [exchange])]) {
    const replies = exchanges.map((one) => (chosen.includes(one) ? foreignReply(one, sample.id) : one));
    const where = chosen.length === 1 ? `${chosen[0]?.name} about another item` : 'all replies about another item';
    problems.push(...(await run(replies, where)).problems);
  }
  problems.push(...(await textsLent(definition, sample)));
  reportAll(problems);
}

/**
 * Texts that get into the result although every reply that names an item names another one. The replies without an id
 * may give some too, so those that they give alone do not count.
 */
async function textsLent(definition: ExtractorDefinition, sample: FoundSample): Promise<string[]> {
  const { exchanges, extraction, itemIds } = await readIntact(definition, sample);
  const textsOf = async (change: (exchange: Exchange) => Exchange) => {
    const isNamed = ({ body }: Exchange) => itemIds.some((id) => body.includes(id));
    const replies = exchanges.map((one) => (isNamed(one) ? change(one) : one));
    const { extraction: changed } = await runSample(definition, sample, createReplay(replies));
    return changed ? itemTexts(changed) : {};
  };
  const intact = itemTexts(extraction);
  const foreign = await textsOf((exchange) => itemIds.reduce(foreignReply, exchange));
  const lent = Object.keys(intact).filter((name) => intact[name] !== undefined && foreign[name] === intact[name]);
  if (lent.length === 0) return [];
  const nameless = await textsOf((exchange) => ({ ...exchange, status: 500, body: Buffer.alloc(0) }));
  return lent
    .filter((name) => nameless[name] !== intact[name])
    .map((name) => `all replies about another item: took ${name} from them; compare their id with that of the link`);
}

function itemTexts({ data }: Extraction): Readonly<Record<string, string | undefined>> {
  if ('product' in data) return { 'product.name': data.product.name, 'product.description': data.product.description };
  const { title, caption, description } = data.common;
  return { 'common.title': title, 'common.caption': caption, 'common.description': description };
}

/** Data of the other item in a result, one line each. */
function takenFrom(
  extraction: Extraction,
  replies: readonly Exchange[],
  known: ReadonlySet<string>,
  id: string,
  where: string,
): string[] {
  const foreign = [...textNumbers(replies)].filter((number) => !known.has(number));
  const taken = countsIn(extraction);
  return [
    ...(JSON.stringify(extraction.data).includes(decoyId(id)) ? [`${where}: the result names it`] : []),
    ...foreign.filter((number) => taken.has(number)).map((number) => `${where}: took ${number} from it`),
  ];
}

/** Fields that identify the item and its counters must be the same, with any other content of the replies. */
function differences(intact: Extraction, decoyed: Extraction): string[] {
  return [
    ...compare(idsOf(intact), idsOf(decoyed), 'ids'),
    ...compare(statementsOf(intact), statementsOf(decoyed), 'data'),
  ];
}

function statementsOf({ data }: Extraction): object {
  if (!('product' in data)) return { common: data.common, metrics: data.metrics };
  const { media: _files, image_urls: _images, video_urls: _videos, ...product } = data.product;
  return { product };
}

function countsIn({ data }: Extraction): Set<string> {
  return numbersIn(JSON.stringify('product' in data ? [data.product, data.raw_stats] : [data.metrics, data.raw_stats]));
}

function textNumbers(exchanges: readonly Exchange[]): Set<string> {
  return numbersIn(exchanges.map(({ body }) => body.toString('utf8')).join('\n'));
}

/** Another id with the same letters and length. */
export function decoyId(id: string): string {
  const turned = `${id.slice(1)}${id.slice(0, 1)}`;
  return turned === id ? id.replace(/^./, (first) => (first === '7' ? '8' : '7')) : turned;
}

/** Numbers of three digits and more, without separators of thousands. */
export function numbersIn(text: string): Set<string> {
  return new Set((text.match(/\d[\d.,\u00a0\u202f]*\d{2}/g) ?? []).map((number) => number.replace(/\D/g, '')));
}

/**
 * The same reply about another item: the id is different, and every number of three digits and more begins differently,
 * so that it can be recognized in a result.
 */
export function foreignReply(exchange: Exchange, id: string): Exchange {
  return { ...exchange, body: Buffer.from(foreignText(exchange.body.toString('utf8'), id)) };
}

function foreignText(text: string, id: string): string {
  return text
    .split(id)
    .map((part) => part.replace(/\d(?=[\d.,\u00a0\u202f]*\d{2})/g, otherDigit))
    .join(decoyId(id));
}

function otherDigit(digit: string): string {
  return String((Number(digit) % 9) + 1);
}

/** The ids with which replies refer to an item, that of the link first. */
export type ItemIds = readonly [id: string, ...others: string[]];

export interface DecoyedReply extends ReplyParts {
  /** Number of foreign items that were inserted. */
  decoys: number;
}

/**
 * The reply with another item beside the requested one, wherever a record has the item's id: before and after it in a
 * list, otherwise under a name of its own. A page without such a record gets the other item's link and text at its end.
 */
export function withDecoys(reply: ReplyParts, [id, ...others]: ItemIds): DecoyedReply {
  const { exchange, parts } = reply;
  let decoys = 0;
  const ids: ReadonlySet<unknown> = new Set([id, ...others]);
  const bears = (value: unknown) => isRecord(value) && Object.values(value).some((field) => ids.has(field));
  const foreign = (value: unknown): unknown => {
    decoys += 1;
    return foreignValue(value, id);
  };

  function planted(value: unknown): unknown {
    if (value instanceof NestedJson) return new NestedJson(planted(value.value) as object);
    if (Array.isArray(value)) {
      return value.flatMap((item) => (bears(item) ? [foreign(item), planted(item), foreign(item)] : [planted(item)]));
    }
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, field]) => {
        const own = [name, planted(field)] as const;
        return bears(field) ? [[`other_${name}`, foreign(field)] as const, own] : [own];
      }),
    );
  }

  const decoyed = parts.map((part): Part => {
    if (part.kind !== 'json' || ![id, ...others].some((one) => part.text.includes(one))) return part;
    const before = decoys;
    const inner = planted(part.value);
    // A record that is the whole answer has no siblings.
    const lonely = isRecord(part.value) && (bears(part.value) || (parts.length === 1 && decoys === before));
    const value = lonely ? { other: foreign(part.value), ...(inner as object) } : inner;
    return { ...part, value, text: JSON.stringify(value) };
  });
  if (decoys > 0 || parts.length === 1 || !exchange.body.includes(id)) return { exchange, parts: decoyed, decoys };
  return { exchange, parts: [...parts, { kind: 'text', text: foreignBody(reply, id) }], decoys: 1 };
}

/** A page's tags and markup describe the page's own item; text and links may not. */
function foreignBody({ exchange, parts }: ReplyParts, id: string): string {
  const words = parts.map((part) => (part.kind === 'text' ? part.text.replace(/<[^>]*>/g, ' ') : ''));
  const link = `<a href="${exchange.url.href}">12,345 views</a>`;
  return foreignText(`<div>${link}<p>${words.join(' ')}</p></div>`, id);
}

/** Numbers below a hundred are kept: they are type codes rather than counters. */
function foreignValue(value: unknown, id: string): unknown {
  return mapLeaves(value, (leaf) => {
    if (typeof leaf === 'string') return foreignBase64(leaf, id) ?? foreignText(leaf, id);
    const isCounter = typeof leaf === 'number' && Math.abs(leaf) >= 100;
    return isCounter ? Number(String(leaf).replace(/\d/, otherDigit)) : leaf;
  });
}

/** Base64 ids contain what they refer to: `feedback:123`. */
function foreignBase64(text: string, id: string): string | undefined {
  if (!/^[\w+/-]{12,}={0,2}$/.test(text) || /^\d+$/.test(text)) return undefined;
  const inner = Buffer.from(text, 'base64').toString('latin1');
  return /^[\x20-\x7e]+$/.test(inner) && /\d{3}/.test(inner)
    ? Buffer.from(foreignText(inner, id)).toString('base64')
    : undefined;
}
