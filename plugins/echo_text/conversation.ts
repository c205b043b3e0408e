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
