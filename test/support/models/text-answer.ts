/** Answers of the local text upstream, and their tokens. */

/** Tokens of an answer; the words of it, more or less. */
export interface AnswerUsage {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

/** What the model of the stand-in has to say, before it is put into a format. */
export interface ModelAnswer {
  /** As the answer names the model. */
  model: string;
  /** Seconds since 1970. */
  created: number;
  /** Pieces in which it is streamed. */
  pieces: readonly string[];
  /** Called instead of saying something. */
  toolCalls: readonly { id: string; name: string; namespace?: string; arguments: string }[];
  /** Pieces of the summary of what it thought; empty where it did not. */
  reasoning: readonly string[];
  /** Why it stops, in words of chat completions; a tool call goes before it. */
  stop: 'stop' | 'length' | 'content_filter';
  usage: AnswerUsage;
}

export interface ModelOptions {
  /** Default: says what it was told last. */
  text?: string;
  /** Name that the answer gives, e.g. with a date. Default: as it was asked for. */
  reports?: string;
  /** Words it thinks before it answers. Default 0. */
  thinks?: number;
  stop?: ModelAnswer['stop'];
}

type Members = Readonly<Record<string, unknown>>;

const CREATED = 1_781_500_000;
const THOUGHT = ['Looking ', 'at ', 'the ', 'question', '.'];

/** The answer to a body of either format. A tool is called where there are some and none has answered yet. */
export function answerTo(body: Members, options: ModelOptions, count: number): ModelAnswer {
  const said = inputOf(body);
  const text = options.text ?? `You said: ${lastText(said)}`;
  const tool = calledTool(body, said);
  const toolCalls = tool ? [{ id: `call_${count}`, ...tool }] : [];
  const pieces = tool ? [] : (text.match(/\s*\S+\s*/g) ?? [text]);
  const { thinks = 0, stop = 'stop' } = options;
  const output = tool ? wordsOf(tool.arguments) + 1 : pieces.length;
  const input = wordsOf(JSON.stringify(said));
  return {
    model: options.reports ?? String(body.model),
    created: CREATED + count,
    pieces,
    toolCalls,
    reasoning: thinks > 0 ? THOUGHT : [],
    stop,
    usage: { input, cached: Math.floor(input / 4), output: output + thinks, reasoning: thinks },
  };
}

/** Messages, or items; a bare text is one of them. */
export function inputOf({ messages, input }: Members): readonly unknown[] {
  const said = messages ?? input ?? [];
  return Array.isArray(said) ? said : [{ role: 'user', content: said }];
}

function calledTool(body: Members, said: readonly unknown[]): { name: string; arguments: string } | undefined {
  const [first] = Array.isArray(body.tools) ? (body.tools as Members[]) : [];
  const last = said.at(-1) as Members | undefined;
  const isAnswered = last?.role === 'tool' || last?.type === 'function_call_output';
  if (first?.type !== 'function' || isAnswered || body.tool_choice === 'none') return undefined;
  // Chat completions have the function one level deeper.
  const { name, parameters } = (first.function ?? first) as { name: string; parameters?: { properties?: object } };
  const names = Object.keys(parameters?.properties ?? {});
  return { name, arguments: JSON.stringify(Object.fromEntries(names.map((one) => [one, 'Ostend at dawn']))) };
}

function lastText(said: readonly unknown[]): string {
  const last = said.at(-1) as { content?: unknown; output?: unknown } | undefined;
  const content = last?.content ?? last?.output ?? '';
  if (!Array.isArray(content)) return String(content);
  return content.map((part: { text?: string }) => part.text ?? '').join('');
}

function wordsOf(text: string): number {
  return text.split(/\s+/).length;
}
