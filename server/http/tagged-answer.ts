import { hash } from 'node:crypto';
import { hasCurrentCopy } from './file-response.js';
import type { RequestContext } from './request-state.js';

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
  const { res: response } = context;
  const etag = `"${hash('sha256', text, 'base64url')}"`;
  response.setHeader('ETag', etag);
  response.setHeader('Cache-Control', CACHE_CONTROL[keeping]);
  if (keeping === 'private') context.vary(['Authorization', 'Cookie']);
  if (hasCurrentCopy(context, etag)) {
    context.status = 304;
    return;
  }
  response.setHeader('Content-Type', type);
  context.body = text;
}
