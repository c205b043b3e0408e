import { randomUUID } from 'node:crypto';
import { GatewayError, type TextRoute } from 'mediagate';

type Members = Readonly<Record<string, unknown>>;

/** What was said so far, as far as an echo needs it. */
export interface Conversation {
  /** Messages, or items. */
  said: readonly Members[];
  /** All text of it. */
  texts: readonly string[];
  /** The last words of the user. */
  last: string;
  /** Most tokens that the answer may have; undefined where the caller sets no bound. */
  mostTokens?: number;
}

/** @throws GatewayError `missing_required_parameter`, `invalid_value`. */
export function readConversation(route: TextRoute, body: Members): Conversation {
  const param = route === 'responses' ? 'input' : 'messages';
  const said = saidIn(body[param], param);
  const texts = [...(typeof body.instructions === 'string' ? [body.instructions] : []), ...said.flatMap(textsOf)];
  const last = said.findLast((one) => one.role === 'user') ?? said.at(-1);
  const most = body.max_output_tokens ?? body.max_completion_tokens ?? body.max_tokens;
  return {
    said,
    texts,
    last: last ? textsOf(last).join(' ') : '',
    ...(typeof most === 'number' && most >= 1 && { mostTokens: Math.floor(most) }),
  };
}

function saidIn(value: unknown, param: string): Members[] {
  if (value === undefined || value === null) {
    throw new GatewayError('missing_required_parameter', `${param} is missing.`, { param });
  }
  if (typeof value === 'string') return [{ role: 'user', content: value }];
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw new GatewayError('invalid_value', `${param} must be a list of objects.`, { param });
}

/** Of a message, its content, or the text parts of it; of a tool's answer, what it says. */
function textsOf(message: Members): string[] {
  const content = message.content ?? message.output ?? message.arguments;
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An answer before it is put into a format. */
export interface Echo {
  /** Unguessable; without the prefix that a format gives it. */
  id: string;
  model: string;
  /** Seconds since 1970. */
  created: number;
  /** In the order they are said. */
  tokens: readonly string[];
  /** Whether the caller's bound cut it. */
  isCut: boolean;
  inputTokens: number;
  /** Of the input, what was said in earlier responses. */
  earlierTokens: number;
}

/** Nobody shall take it for a model's. */
const MARK = 'This is an echo, no model is connected (set TEXT_UPSTREAM_URL). You said:';
/** Whoever pastes a book does not want it back. */
const MOST_TOKENS = 2_000;

export function createEcho(
  { texts, last, mostTokens = MOST_TOKENS }: Conversation,
  { model, now, earlierTokens }: { model: string; now: number; earlierTokens: number },
): Echo {
  const tokens = tokensOf(`${MARK} ${last}`);
  const most = Math.min(mostTokens, MOST_TOKENS);
  return {
    id: randomUUID().replaceAll('-', ''),
    model,
    created: Math.floor(now / 1000),
    tokens: tokens.slice(0, most),
    isCut: tokens.length > most,
    inputTokens: earlierTokens + texts.reduce((sum, text) => sum + countTokens(text), 0),
    earlierTokens,
  };
}

/** The tokens of an echo: words with the space before them, digits, signs. A model's own would take 80 MB to load. */
const TOKEN = / ?\p{L}{1,16}| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]{1,4}|\s+/gu;

/** In the order of the text; together they are the text. */
export function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

export function countTokens(text: string): number {
  let count = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.test(text)) count++;
  return count;
}
