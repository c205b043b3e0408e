import { blocksOf, type Part, readPart, readText, refuseBlock } from './content.js';
import { flagAt, listAt, type Members, membersAt, nameAt, optional, refuse } from './sent.js';

export type Role = 'user' | 'assistant' | 'system';

/** One step of a conversation, as every format of the models has it in some way. */
export type Turn =
  | { type: 'said'; role: Role; parts: readonly Part[] }
  /** A tool that the model called. */
  | { type: 'call'; id: string; name: string; input: Members }
  /** What came of it. */
  | { type: 'result'; id: string; parts: readonly Part[]; failed: boolean };

const ROLES: Readonly<Record<Role, (content: unknown, place: string) => readonly Turn[]>> = {
  user: readUserTurns,
  assistant: readAssistantTurns,
  system: (content, place) => said('system', readTexts(content, place)),
};

/**
 * @throws GatewayError `missing_required_parameter`, `invalid_value`, `unsupported_value`, naming the place.
 */
export function readConversation(messages: unknown): Turn[] {
  const all = listAt(messages, 'messages');
  if (all.length === 0) refuse('messages', 'a list of at least one message');
  return all.flatMap((message, index) => {
    const place = `messages.${index}`;
    const { role, content } = membersAt(message, place);
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      refuse(`${place}.role`, 'user, assistant or system');
    const turns = ROLES[role](content, `${place}.content`);
    if (turns.length === 0 && role !== 'assistant' && index === all.length - 1) {
      refuse(`${place}.content`, 'a text or a list of content blocks that is not empty');
    }
    return turns;
  });
}

/** Blocks of text and nothing else. */
export function readTexts(content: unknown, place: string): (Part & { type: 'text' })[] {
  return blocksOf(content, place).map(([block, at]) =>
    block.type === 'text' ? readText(block, at) : refuseBlock(block, at),
  );
}

/** Results go first: nothing may stand between them and the call. */
function readUserTurns(content: unknown, place: string): readonly Turn[] {
  const blocks = blocksOf(content, place);
  const results = blocks.filter(([{ type }]) => type === 'tool_result');
  const others = blocks.filter(([{ type }]) => type !== 'tool_result');
  return [
    ...results.map(([block, at]) => readResult(block, at)),
    ...said(
      'user',
      others.flatMap(([block, at]) => readPart(block, at)),
    ),
  ];
}

function readResult({ tool_use_id: id, content, is_error: failed }: Members, place: string): Turn {
  const blocks = optional(content, `${place}.content`, blocksOf) ?? [];
  return {
    type: 'result',
    id: nameAt(id, `${place}.tool_use_id`),
    parts: blocks.flatMap(([block, at]) => readPart(block, at)),
    failed: optional(failed, `${place}.is_error`, flagAt) ?? false,
  };
}

/** What the model thought is not sent back: it was told as words, which are not what it thought in. */
function readAssistantTurns(content: unknown, place: string): readonly Turn[] {
  const turns: Turn[] = [];
  let parts: Part[] = [];
  for (const [block, at] of blocksOf(content, place)) {
    if (block.type === 'thinking' || block.type === 'redacted_thinking') continue;
    if (block.type === 'text') parts.push(readText(block, at));
    else if (block.type === 'tool_use') {
      turns.push(...said('assistant', parts), readCall(block, at));
      parts = [];
    } else refuseBlock(block, at);
  }
  turns.push(...said('assistant', parts));
  return turns;
}

function readCall({ id, name, input }: Members, place: string): Turn {
  return {
    type: 'call',
    id: nameAt(id, `${place}.id`),
    name: nameAt(name, `${place}.name`),
    input: membersAt(input, `${place}.input`),
  };
}

function said(role: Role, parts: readonly Part[]): Turn[] {
  return parts.length === 0 ? [] : [{ type: 'said', role, parts }];
}
