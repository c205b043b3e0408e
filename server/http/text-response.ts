import type { ServerResponse } from 'node:http';
import type { TextAnswer, TextExchange } from 'mediagate';
import { addField } from './answer-response.js';
import { sendEvents, sendWhole } from './event-stream.js';
import type { RequestContext } from './request-state.js';

/** Answers with what a text model said. Resolves when it is handed over, or the client has gone. */
export async function sendText(context: RequestContext, answer: TextAnswer): Promise<void> {
  const { body, standIn } = answer;
  if (standIn !== undefined) addField(context.res, 'x-mediagate-stand-in', standIn);
  if (body instanceof Uint8Array) sendWhole(context, answer, body);
  else await sendEvents(context, answer, body);
}

/** Whoever closes the connection before the answer is out is told to the exchange at once. */
export function leaveWithClient(response: ServerResponse, exchange: TextExchange): void {
  if (response.destroyed) exchange.leave();
  else response.once('close', () => exchange.leave());
}
