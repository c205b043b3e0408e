/** What the fast upstream answers, byte for byte, and what its callers ask. */

export const PUBLIC_MODEL = 'm-5.5';
/** What the model is called at the upstream. */
export const UPSTREAM_MODEL = 'upstream-model-2026-01-01';
/** Of one stream, `[DONE]` included. */
export const EVENTS = 101;
export const EVENT_MS = 10;

const PROMPT = 'Name the harbours between Ostend and Antwerp in the order in which a tug passes them. '
  .repeat(2)
  .trim();
const ANSWER = 'Ostend, Zeebrugge, Flushing, Terneuzen, Antwerp: one after the other, with the tide. '.repeat(8).trim();
const USAGE = { prompt_tokens: 41, completion_tokens: 160, total_tokens: 201 };

/**
 * Body of a request, about 330 bytes.
 * @param asksForUsage A gateway leaves the event with the usage out of a stream whose client has not asked for it.
 */
export function chatRequest({ stream, asksForUsage }: { stream: boolean; asksForUsage?: boolean }): string {
  const messages = [
    { role: 'system', content: 'You answer in one sentence, without headings, lists or remarks about yourself.' },
    { role: 'user', content: PROMPT },
  ];
  const options = { ...(stream && { stream }), ...(asksForUsage && { stream_options: { include_usage: true } }) };
  return JSON.stringify({ model: PUBLIC_MODEL, messages, max_completion_tokens: 256, ...options });
}

const ID = 'chatcmpl-0123456789abcdefghijklmn';
const CREATED = 1_770_000_000;

/** Body of a plain answer, about a kilobyte. */
export function chatAnswer(model: string): string {
  return JSON.stringify({
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: ANSWER, refusal: null }, finish_reason: 'stop' }],
    usage: USAGE,
    service_tier: 'default',
  });
}

/** The events of a stream: text, why it ended, what it used, and the end. */
export function chatEvents(model: string): string[] {
  const event = (choices: unknown[], more: object = {}) =>
    `data: ${JSON.stringify({ id: ID, object: 'chat.completion.chunk', created: CREATED, model, choices, ...more })}\n\n`;
  const text = Array.from({ length: EVENTS - 3 }, (_, index) =>
    event([{ index: 0, delta: { content: ` word${index}` }, finish_reason: null }]),
  );
  const ended = event([{ index: 0, delta: {}, finish_reason: 'stop' }]);
  return [...text, ended, event([], { usage: USAGE }), 'data: [DONE]\n\n'];
}
