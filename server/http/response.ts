import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { TextAnswer, TextExchange } from 'mediagate';
import { sendEvents, sendWhole } from './event-stream.js';
import { addField } from './fast-path.js';
import { hasCurrentCopy } from './file-response.js';
import type { RequestContext } from './koa-app.js';

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

/** Who may keep an answer: anybody for five minutes, or whoever asked, to be asked about each time. */
export type Keeping = 'public' | 'private';

const CACHE_CONTROL: Readonly<Record<Keeping, string>> = {
  public: 'public, max-age=300',
  private: 'private, no-cache',
};

const JSON_TYPE = 'application/json; charset=utf-8';

/** Answers with JSON under a tag of its bytes; 304 where the client has them. */
export function sendJson(context: RequestContext, body: object, keeping: Keeping): void {
  sendTagged(context, JSON.stringify(body), { type: JSON_TYPE, keeping });
}

/** As {@link sendJson}, for any text. */
export function sendTagged(
  context: RequestContext,
  text: string,
  { type, keeping }: { type: string; keeping: Keeping },
): void {
  const etag = `"${hash('sha256', text, 'base64url')}"`;
  context.set({ ETag: etag, 'Cache-Control': CACHE_CONTROL[keeping] });
  if (keeping === 'private') context.vary(['Authorization', 'Cookie']);
  if (hasCurrentCopy(context, etag)) {
    context.status = 304;
    return;
  }
  context.set('Content-Type', type);
  context.body = text;
}
