import { randomUUID } from 'node:crypto';
import type { Conversation } from './conversation.js';
import { countTokens, tokensOf } from './tokens.js';

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
