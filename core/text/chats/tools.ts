/*
 * The tools of a request of `/v1/responses` as functions of a chat. Functions stay as they are. A custom tool, which
 * takes a text, becomes a function with one field `input`. Tools within a namespace become functions whose names
 * contain it. Tools that only their vendor runs are left out and listed in `ignored`: agents send them by default, and
 * work without them. The names fit all vendors; `names` has the way back for the calls of the answer.
 */

import { recordOf } from '../../runtime/index.js';
import { ToolNames } from './tool-names.js';
import { given, invalid, isGiven, type JsonRecord, nameOf, recordAt } from './values.js';

export interface ChatTools {
  tools: JsonRecord[];
  /** `tool_choice` of the chat. Default: the model decides. */
  choice?: unknown;
  /** Names, as the vendor knows them, of tools that take a text instead of JSON. */
  customTools: ReadonlySet<string>;
  names: ToolNames;
  /** What was left out: `tools.web_search`, `tool_choice`. */
  ignored: readonly string[];
}

/** A tool that a chat can have. */
interface ChatTool {
  name: string;
  tool: JsonRecord;
  isCustom: boolean;
}

/** Namespaces within namespaces. */
const MAX_DEPTH = 4;
const INPUT = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };

/** @throws GatewayError `invalid_value` for tools that are no list of objects. */
export function chatTools({ tools: sent, tool_choice: wanted }: JsonRecord): ChatTools {
  if (isGiven(sent) && !Array.isArray(sent)) throw invalid('tools', 'a list of tools');
  const names = new ToolNames();
  const ignored: string[] = [];
  const all: ChatTool[] = [];

  function add(tool: JsonRecord, at: string, namespace?: string, depth = 0): void {
    const { type, name } = tool;
    if (type === 'namespace' && Array.isArray(tool.tools) && depth < MAX_DEPTH) {
      const inner = namespace === undefined ? String(name) : `${namespace}.${name}`;
      for (const [index, one] of tool.tools.entries()) {
        add(recordAt(one, `${at}.tools[${index}]`), `${at}.tools[${index}]`, inner, depth + 1);
      }
    } else if (type === 'function' || type === 'custom') {
      const encoded = names.encode({ name: String(name), ...(namespace !== undefined && { namespace }) });
      all.push({ name: encoded, tool: functionOf(tool, encoded), isCustom: type === 'custom' });
    } else ignored.push(`tools.${String(type).slice(0, 40)}`);
  }

  const listed: readonly unknown[] = Array.isArray(sent) ? sent : [];
  for (const [index, tool] of listed.entries()) add(recordAt(tool, `tools[${index}]`), `tools[${index}]`);
  const { tools, choice } = choose(all, wanted, names, ignored);
  const customTools = new Set(all.flatMap(({ name, isCustom }) => (isCustom ? [name] : [])));
  return { tools: tools.map(({ tool }) => tool), choice, customTools, names, ignored };
}

/** The tools that may be used, and the choice among them. */
function choose(
  all: readonly ChatTool[],
  wanted: unknown,
  names: ToolNames,
  ignored: string[],
): { tools: readonly ChatTool[]; choice?: unknown } {
  if (!isGiven(wanted)) return { tools: all };
  if (typeof wanted === 'string') {
    if (wanted !== 'required' || all.length > 0) return { tools: all, choice: wanted };
    ignored.push('tool_choice');
    return { tools: all };
  }
  const choice = recordAt(wanted, 'tool_choice');
  if (choice.type === 'allowed_tools' && Array.isArray(choice.tools)) {
    const allowed = new Set(choice.tools.map((one) => encodedName(recordOf(one), names)));
    const namespaces = choice.tools.map(recordOf).filter(({ type }) => type === 'namespace');
    const isAllowed = ({ name }: ChatTool) =>
      allowed.has(name) || namespaces.some((one) => names.decode(name).namespace === one.name);
    return { tools: all.filter(isAllowed), choice: choice.mode };
  }
  const name = encodedName(choice, names);
  if ((choice.type === 'function' || choice.type === 'custom') && all.some((tool) => tool.name === name)) {
    return { tools: all, choice: { type: 'function', function: { name } } };
  }
  if (choice.type === 'function' || choice.type === 'custom') {
    throw invalid('tool_choice', `the choice of a listed tool: there is none with the name ${nameOf(choice.name)}`);
  }
  // A tool that was left out, or a kind of choice that chats do not have.
  ignored.push('tool_choice');
  return { tools: all };
}

/** The name for the vendor of a tool that a choice or an earlier call names. */
export function encodedName({ name, namespace }: JsonRecord, names: ToolNames): string {
  return names.encode({ name: String(name), ...(typeof namespace === 'string' && { namespace }) });
}

function functionOf({ type, description, parameters, strict, format }: JsonRecord, name: string): JsonRecord {
  if (type === 'function') {
    return { type, function: { name, ...given({ description, parameters, strict }) } };
  }
  const { syntax, definition } = recordOf(format);
  const grammar = isGiven(definition) ? `The input must follow this ${syntax} grammar:\n${definition}` : undefined;
  const words = [description, grammar].filter(isGiven).join('\n\n');
  return { type: 'function', function: { name, ...(words !== '' && { description: words }), parameters: INPUT } };
}
