/*
 * Finds the fields of a text request that use something of the vendor's account: ids of what is stored there, servers
 * that the vendor calls, and tools and tiers that cost more than tokens. A caller may be allowed neither. Only the
 * places that a vendor reads are searched: not the arguments or the JSON Schema of functions, metadata or citations.
 */

import { asRecord, type JsonRecord } from '../runtime/index.js';

export interface VendorField {
  /**
   * `id`: something of the vendor's account. `item`: an output item of an earlier response, by its id alone. `paid`: it
   * costs more than tokens.
   */
  use: 'id' | 'item' | 'paid';
  /** As clients write it: `input[3].id`, `tools[0].type`. */
  param: string;
  /** At most 200 characters. */
  value: string;
}

/** A request with more is refused where any of them has to be checked. */
export const MAX_VENDOR_FIELDS = 1_000;
const ID_FIELDS: ReadonlySet<string> = new Set([
  'file_id',
  'file_ids',
  'vector_store_ids',
  'container',
  'container_id',
  'skill_id',
  'server_url',
  'connector_id',
  'workspace_id',
  'user_profile_id',
]);
const SKIPPED: ReadonlySet<string> = new Set(['metadata', 'annotations', 'parameters', 'arguments', 'input_schema']);
const FREE_TOOLS: ReadonlySet<unknown> = new Set([
  undefined,
  'function',
  'custom',
  'namespace',
  'tool_search',
  'local_shell',
  'apply_patch',
]);
/** Anthropic's tools that the client runs, and its search among the client's tools. */
const CLIENT_TOOLS =
  /^(?:bash|text_editor|computer|computer_toolset|browser_toolset|memory|tool_search_tool_(?:bm25|regex))_\d{8}$/;
const USUAL_TIERS: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'default', 'standard_only']);
/** Values of Anthropic's fields without a surcharge. */
const USUAL_SPEEDS: ReadonlySet<unknown> = new Set([undefined, null, 'standard']);
const USUAL_PLACES: ReadonlySet<unknown> = new Set([undefined, null, 'global']);
/** The field with the content of an item; an item without its own is looked up by its id. */
const CONTENT_FIELDS: Readonly<Record<string, string>> = {
  message: 'content',
  function_call: 'arguments',
  function_call_output: 'output',
  custom_tool_call: 'input',
  custom_tool_call_output: 'output',
  local_shell_call: 'action',
  local_shell_call_output: 'output',
  apply_patch_call: 'operation',
  apply_patch_call_output: 'output',
  computer_call_output: 'output',
  reasoning: 'encrypted_content',
  compaction: 'encrypted_content',
};

/** Whether tools of a type run at the vendor, which takes money for them. */
export function isHostedTool(type: unknown): boolean {
  return !FREE_TOOLS.has(type) && !CLIENT_TOOLS.test(String(type));
}

/** @param body A request of chat completions, responses or messages. */
export function findVendorFields(body: JsonRecord): VendorField[] {
  const found: VendorField[] = [];

  function add(use: VendorField['use'], param: string, value: unknown): void {
    if (found.length < MAX_VENDOR_FIELDS) found.push({ use, param, value: String(value).slice(0, 200) });
  }

  function addIds(param: string, value: unknown): void {
    if (typeof value === 'string') add('id', param, value);
    else if (Array.isArray(value)) for (const [index, one] of value.entries()) addIds(`${param}[${index}]`, one);
  }

  function walk(value: unknown, path: string): void {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const [index, one] of value.entries()) walk(one, `${path}[${index}]`);
      return;
    }
    for (const [name, one] of Object.entries(value)) {
      const param = path === '' ? name : `${path}.${name}`;
      // The arguments of a call of Anthropic's format.
      if (SKIPPED.has(name) || (name === 'input' && 'type' in value && value.type === 'tool_use')) continue;
      if (ID_FIELDS.has(name)) addIds(param, one);
      if (name === 'tools' && Array.isArray(one)) readTools(one, param);
      else walk(one, param);
    }
  }

  function readTools(tools: readonly unknown[], path: string): void {
    for (const [index, tool] of tools.entries()) {
      const param = `${path}[${index}]`;
      const { type } = asRecord(tool) ?? {};
      if (isHostedTool(type)) add('paid', `${param}.type`, type);
      if (type !== 'function' && type !== 'custom') walk(tool, param);
    }
  }

  const { input, messages, conversation, prompt, container, service_tier: tier, web_search_options: search } = body;
  const { speed, inference_geo: place, thread, mcp_servers: servers } = body;
  walk(body, '');
  for (const [index, item] of listOf(input).entries()) {
    const { id, type, role } = asRecord(item) ?? {};
    if (typeof id !== 'string' || hasContent(item)) continue;
    if (type !== undefined || role === undefined) add('item', `input[${index}].id`, id);
  }
  for (const [index, message] of listOf(messages).entries()) {
    const { id } = asRecord(asRecord(message)?.audio) ?? {};
    if (typeof id === 'string') add('id', `messages[${index}].audio.id`, id);
  }
  for (const [param, value] of Object.entries({ conversation, prompt, container })) {
    if (typeof value === 'string') add('id', param, value);
    else if (asRecord(value)?.id !== undefined) add('id', `${param}.id`, asRecord(value)?.id);
  }
  if (!USUAL_TIERS.has(tier)) add('paid', 'service_tier', tier);
  if (search !== undefined && search !== null) add('paid', 'web_search_options', 'web_search');
  if (!USUAL_SPEEDS.has(speed)) add('paid', 'speed', speed);
  if (!USUAL_PLACES.has(place)) add('paid', 'inference_geo', place);
  if (asRecord(thread)) add('id', 'thread', 'thread');
  for (const [index, server] of listOf(servers).entries()) {
    const { url } = asRecord(server) ?? {};
    if (url !== undefined) add('id', `mcp_servers[${index}].url`, url);
  }
  return found;
}

function hasContent(item: unknown): boolean {
  const record = asRecord(item) ?? {};
  const { type = 'message' } = record;
  const field = typeof type === 'string' && Object.hasOwn(CONTENT_FIELDS, type) ? CONTENT_FIELDS[type] : undefined;
  const content = field === undefined ? undefined : record[field];
  return content !== undefined && content !== null;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [asRecord(value)].filter((one) => one !== undefined);
}
