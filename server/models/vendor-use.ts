/*
 * Restricts what a request may use of the operator's account at a model vendor besides tokens: ids of what is stored
 * there, and tools and tiers that cost more. Keys of a plan need the grant `vendor_ids` for the first. Keys of a plan,
 * and all keys with a budget, need `paid_tools` for the second, because a budget could not count them. Without that
 * grant, hosted tools are left out of the request and named in `x-ignored-params`, so that agents, which send them by
 * default, work. A choice that names one, and a tier, are refused, since the client asked for just that. Every account
 * may name output items of its own responses. For budgets of money, the file also finds the tier and the searches that
 * an allowed request asks for; an ordinary request yields undefined and allocates nothing.
 */

import { GatewayError, type JsonRecord } from '../../core/runtime/index.js';
import {
  isHostedTool,
  MAX_VENDOR_FIELDS,
  removeElements,
  replaceFields,
  type VendorField,
} from '../../core/text/index.js';
import { nameIgnored, type RequestContext } from '../http/index.js';
import { type ApiKeyRecord, isPlanKey, keyOf } from '../keys/index.js';
import type { HighestUse } from '../prices/index.js';
import type { ClosableStoredResponses } from './response-store.js';

interface SentRequest {
  body: Uint8Array;
  parsed: JsonRecord;
  /** Fields of the request that use something of the vendor's account; called if the key may not use all. */
  findFields(): readonly VendorField[];
}

type AllowedRequest = Pick<SentRequest, 'body' | 'parsed'>;

/**
 * The request as the key may send it. Waits only where the database is asked.
 * @throws GatewayError `vendor_id_not_allowed`, `paid_tool_not_allowed`, `upstream_unavailable` if the database does
 *   not answer.
 */
export function allowedVendorUse(
  context: RequestContext,
  sent: SentRequest,
  responses: Pick<ClosableStoredResponses, 'unknownItems'>,
): AllowedRequest | Promise<AllowedRequest> {
  const key = keyOf(context);
  const mayUseIds = !isPlanKey(key) || key.grants.includes('vendor_ids');
  const mayPay = key.grants.includes('paid_tools') || !(isPlanKey(key) || hasBudget(key));
  return mayUseIds && mayPay ? sent : restrict(context, sent, { key, mayUseIds, mayPay, responses });
}

interface Restriction {
  key: ApiKeyRecord;
  mayUseIds: boolean;
  mayPay: boolean;
  responses: Pick<ClosableStoredResponses, 'unknownItems'>;
}

async function restrict(
  context: RequestContext,
  { body, parsed, findFields }: SentRequest,
  { key, mayUseIds, mayPay, responses }: Restriction,
): Promise<AllowedRequest> {
  const fields = findFields();
  if (!mayUseIds) await checkIds(key, mayPay ? fields : outsideOfPaid(fields), responses);
  if (fields.length === MAX_VENDOR_FIELDS) {
    const message = `The request names ${MAX_VENDOR_FIELDS} or more things by their ids; fewer are accepted.`;
    throw new GatewayError('invalid_value', message, { param: 'input' });
  }
  return mayPay ? { body, parsed } : withoutPaid(context, { body, parsed }, fields);
}

function hasBudget({ budgetId, furtherBudgets = [] }: ApiKeyRecord): boolean {
  return budgetId !== null || furtherBudgets.length > 0;
}

/** Without what hosted tools name: they are left out. */
function outsideOfPaid(fields: readonly VendorField[]): VendorField[] {
  const tools = fields.flatMap(({ use, param }) =>
    use === 'paid' && TOOL.test(param) ? param.replace('type', '') : [],
  );
  return fields.filter(({ param }) => !tools.some((tool) => param.startsWith(tool)));
}

async function checkIds(
  { accountId }: ApiKeyRecord,
  fields: readonly VendorField[],
  responses: Pick<ClosableStoredResponses, 'unknownItems'>,
): Promise<void> {
  const items = fields.filter(({ use }) => use === 'item').map(({ value }) => value);
  const unknown = items.length === 0 ? new Set<string>() : await responses.unknownItems(items, accountId);
  for (const { use, param, value } of fields) {
    if (use === 'id' || (use === 'item' && unknown.has(value))) throw vendorId(param);
  }
}

const TOOL = /^tools\[(\d+)\]\.type$/;
/** Settings of tools, which vendors refuse without any tool. */
const OF_TOOLS = ['tool_choice', 'parallel_tool_calls'];

function withoutPaid(
  context: RequestContext,
  { body, parsed }: Pick<SentRequest, 'body' | 'parsed'>,
  fields: readonly VendorField[],
): AllowedRequest {
  const paid = fields.filter(({ use }) => use === 'paid');
  checkChoice(parsed.tool_choice, paid);
  if (paid.length === 0) return { body, parsed };
  const ignored: string[] = [];
  const removed = new Set<number>();
  let bytes = body;
  const rest: Record<string, unknown> = { ...parsed };
  for (const { param, value } of paid) {
    const index = TOOL.exec(param)?.[1];
    if (index !== undefined) {
      removed.add(Number(index));
      ignored.push(`tools.${value.slice(0, 40)}`);
    } else if (param === 'web_search_options') {
      bytes = replaceFields(bytes, { [param]: undefined });
      delete rest[param];
      ignored.push(param);
    } else throw paidTool(param, value);
  }
  bytes = removeElements(bytes, 'tools', (index) => removed.has(index));
  if (Array.isArray(rest.tools)) rest.tools = rest.tools.filter((_tool, index) => !removed.has(index));
  if (Array.isArray(rest.tools) && rest.tools.length === 0) {
    for (const name of ['tools', ...OF_TOOLS]) delete rest[name];
    bytes = replaceFields(bytes, Object.fromEntries(OF_TOOLS.map((name) => [name, undefined])));
    if (parsed.tool_choice === 'required') ignored.push('tool_choice');
  }
  nameIgnored(context, ignored);
  return { body: bytes, parsed: rest };
}

/** @throws GatewayError `paid_tool_not_allowed` for a choice of a hosted tool, by its type or its name. */
function checkChoice(choice: unknown, paid: readonly VendorField[]): void {
  if (typeof choice !== 'object' || choice === null) return;
  const { type, name, tools } = choice as JsonRecord;
  const listed: readonly unknown[] = type === 'allowed_tools' && Array.isArray(tools) ? tools : [];
  for (const one of listed) checkChoice(one, paid);
  const isOfTools = type === undefined || CHOICES.has(type);
  const named = paid.find(({ param, value }) => TOOL.test(param) && type === 'tool' && isNamed(value, name));
  if (!isOfTools && isHostedTool(type)) throw paidTool('tool_choice', String(type));
  if (named) throw paidTool('tool_choice', named.value);
}

/** Kinds of choices that are no types of tools. */
const CHOICES: ReadonlySet<unknown> = new Set(['auto', 'any', 'none', 'tool', 'required', 'allowed_tools']);

/** Anthropic names a hosted tool as its type begins: `web_search` of `web_search_20260318`. */
function isNamed(type: string, name: unknown): boolean {
  return typeof name === 'string' && type.replace(/_\d{8}$/, '') === name;
}

function vendorId(param: string): GatewayError {
  const accepted = 'Send the content itself, or ids of responses and output items that this account made';
  return new GatewayError('vendor_id_not_allowed', `${param} names something of the model vendor. ${accepted}.`, {
    param,
  });
}

function paidTool(param: string, value: string): GatewayError {
  const accepted =
    param === 'service_tier' ? 'Accepted: auto, default' : 'Accepted: tools of the type function or custom';
  const needed = 'This key needs the grant paid_tools for it';
  const message = `${value.slice(0, 100)} costs more than tokens. ${needed}. ${accepted}.`;
  return new GatewayError('paid_tool_not_allowed', message, { param });
}

/** Searches of a tool for which the request states no maximum. */
const USUAL_SEARCHES = 10;
const MAX_SEARCHES = 1_000;
const USUAL_TIERS: ReadonlySet<unknown> = new Set(['auto', 'default', 'standard', 'standard_only']);

/** Undefined for a request that asks for neither. */
export function paidExtrasOf(body: JsonRecord): Omit<HighestUse, 'model'> | undefined {
  const serviceTier = body.speed === 'fast' ? 'fast' : tierOf(body.service_tier);
  const webSearches = searchesOf(body);
  if (serviceTier === undefined && webSearches === 0) return undefined;
  return { ...(serviceTier !== undefined && { serviceTier }), ...(webSearches > 0 && { webSearches }) };
}

function tierOf(tier: unknown): string | undefined {
  return typeof tier === 'string' && !USUAL_TIERS.has(tier) ? tier : undefined;
}

function searchesOf({ tools, max_tool_calls: calls, web_search_options: options }: JsonRecord): number {
  let searches = options === undefined || options === null ? 0 : 1;
  if (!Array.isArray(tools)) return searches;
  for (const tool of tools as readonly (JsonRecord | null)[]) {
    const type = tool?.type;
    if (typeof type !== 'string' || !type.startsWith('web_search')) continue;
    searches += limitOf(tool?.max_uses) ?? limitOf(calls) ?? USUAL_SEARCHES;
  }
  return Math.min(searches, MAX_SEARCHES);
}

function limitOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
