import type { Echo } from './echo.js';

/** `chat.completion` */
export function chatCompletion(echo: Echo): object {
  const message = { role: 'assistant', content: echo.tokens.join(''), refusal: null };
  return {
    ...headOf(echo, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(echo) }],
    usage: usageOf(echo),
  };
}

/** Events of a stream, one for each token and a few around them. */
export function* chatEvents(echo: Echo, includeUsage: boolean): Generator<string> {
  const head = headOf(echo, 'chat.completion.chunk');
  const event = (choices: readonly object[], usage: object | null = null) =>
    `data: ${JSON.stringify({ ...head, choices, ...(includeUsage && { usage }) })}\n\n`;
  const choice = (delta: object, finish: string | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason: finish },
  ];
  yield event(choice({ role: 'assistant', content: '', refusal: null }));
  for (const content of echo.tokens) yield event(choice({ content }));
  yield event(choice({}, finishOf(echo)));
  if (includeUsage) yield event([], usageOf(echo));
  yield 'data: [DONE]\n\n';
}

function headOf({ id, created, model }: Echo, object: string): object {
  return { id: `chatcmpl-${id}`, object, created, model };
}

function finishOf({ isCut }: Echo): string {
  return isCut ? 'length' : 'stop';
}

function usageOf({ inputTokens, tokens }: Echo): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: tokens.length,
    total_tokens: inputTokens + tokens.length,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
