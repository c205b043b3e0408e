import Koa from 'koa';
import type { RequestContext, RequestState } from './request-state.js';

type Run = (context: RequestContext) => Promise<unknown>;

/** What Koa has for its own callback, which its types leave out. */
const { handleRequest } = Koa.prototype as unknown as {
  handleRequest(this: Koa<RequestState>, context: RequestContext, run: Run): Promise<void>;
};

/**
 * Koa, but for answers that routes write by themselves: Koa would follow each of them to its end, which takes longer than all
 * else that it does, to hear of errors that Node's server and whoever writes hear of as well.
 */
export class App extends Koa<RequestState> {
  async handleRequest(context: RequestContext, run: Run): Promise<void> {
    const { res: response } = context;
    response.statusCode = 404;
    try {
      await run(context);
    } catch (error) {
      context.onerror(error as Error);
      return;
    }
    if (context.respond === false) return;
    const { statusCode } = response;
    await handleRequest.call(this, context, async () => {
      response.statusCode = statusCode;
    });
  }
}
