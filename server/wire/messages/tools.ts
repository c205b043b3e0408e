import { isMembers, listAt, type Members, membersAt, nameAt, optional, refuse, refuseUnable, textAt } from './sent.js';

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
  const read = optional(tools, 'tools', listAt) ?? [];
  const chosen = optional(choice, 'tool_choice', membersAt);
  return {
    tools: read.map((tool, index) => readTool(membersAt(tool, `tools.${index}`), `tools.${index}`)),
    ...(chosen && { choice: readChoice(chosen) }),
    oneAtATime: chosen?.disable_parallel_tool_use === true,
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
    strict: strict === true,
  };
}

function readChoice({ type, name }: Members): NonNullable<ToolUse['choice']> {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  if (type === 'tool') return { name: nameAt(name, 'tool_choice.name') };
  return refuse('tool_choice.type', 'auto, any, tool or none');
}
