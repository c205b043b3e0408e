import {
  flagAt,
  isMembers,
  listAt,
  type Members,
  membersAt,
  nameAt,
  optional,
  refuse,
  refuseUnable,
  textAt,
} from './sent.js';

export interface Tool {
  name: string;
  description?: string;
  /** JSON Schema. */
  parameters: Members;
  strict: boolean;
}

export interface ToolUse {
  tools: readonly Tool[];
  /** Default: as the model likes. */
  choice?: 'auto' | 'required' | 'none' | { name: string };
  /** Whether it may call one tool at a time alone. */
  oneAtATime: boolean;
}

/** @throws GatewayError `invalid_value`; `unsupported_value` for tools that only their vendor has. */
export function readToolUse({ tools, tool_choice: choice }: Members): ToolUse {
  const sent = optional(tools, 'tools', listAt) ?? [];
  const read = sent.map((tool, index) => readTool(membersAt(tool, `tools.${index}`), `tools.${index}`));
  const chosen = optional(choice, 'tool_choice', membersAt);
  const disabled = chosen?.disable_parallel_tool_use;
  return {
    tools: read,
    ...(chosen && { choice: readChoice(chosen, read) }),
    oneAtATime: optional(disabled, 'tool_choice.disable_parallel_tool_use', flagAt) ?? false,
  };
}

function readTool({ type, name, description, input_schema: schema, strict }: Members, place: string): Tool {
  const kind = optional(type, `${place}.type`, textAt) ?? 'custom';
  if (kind !== 'custom') {
    const named = JSON.stringify(kind.slice(0, 100));
    refuseUnable(place, `a tool of the type ${named} is its vendor's own; send tools with a name and an input_schema`);
  }
  const told = optional(description, `${place}.description`, textAt);
  return {
    name: nameAt(name, `${place}.name`),
    ...(told !== undefined && { description: told }),
    parameters: isMembers(schema) ? schema : refuse(`${place}.input_schema`, 'a JSON Schema'),
    strict: optional(strict, `${place}.strict`, flagAt) ?? false,
  };
}

function readChoice({ type, name }: Members, tools: readonly Tool[]): NonNullable<ToolUse['choice']> {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return tools.length > 0 ? 'required' : refuse('tool_choice.type', 'auto or none without tools');
  if (type !== 'tool') return refuse('tool_choice.type', 'auto, any, tool or none');
  const wanted = nameAt(name, 'tool_choice.name');
  return tools.some((tool) => tool.name === wanted)
    ? { name: wanted }
    : refuse('tool_choice.name', 'that of a tool sent');
}
