import type Router from '@koa/router';
import type { Gateway, PreparedText, TextRequest } from 'mediagate';
import type { BodyBudget, RequestContext, RequestState } from '../http/index.js';
import { leaveWithClient, markModel, sendText, takeJsonBody } from '../http/index.js';
import { type createAuth, holderOf, keyOf } from '../keys/index.js';
import type { AdmittedWork, UsageDesk } from '../usage/index.js';

export interface TextRoutes {
  gateway: Gateway;
  auth: ReturnType<typeof createAuth>;
  bodies: BodyBudget;
  usage: UsageDesk;
}

/** Lists of tokens and long conversations with tools have many values. */
const LIMITS = { maxBytes: 10 * 1024 * 1024, maxValues: 500_000, brief: true };
const ROUTES: readonly (readonly [path: string, work: Pick<TextRequest, 'route' | 'task'>])[] = [
  ['/v1/chat/completions', { route: 'chat_completions' }],
  ['/v1/responses', { route: 'responses' }],
  ['/v1/responses/compact', { route: 'responses', task: 'compact' }],
  ['/v1/responses/input_tokens', { route: 'responses', task: 'input_tokens' }],
];

/** Chats and responses, whole or streamed, and what is done with long ones. */
export function addTextRoutes(router: Router<RequestState>, { gateway, auth, bodies, usage }: TextRoutes): void {
  const authenticate = auth({ grant: 'text' });

  for (const [path, work] of ROUTES) {
    router.post(path, markModel, authenticate, async (context: RequestContext) => {
      const key = keyOf(context);
      const { accountId } = key;
      const limits = { ...LIMITS, budget: bodies, owner: holderOf(key) };
      const { bytes: body, value: parsed, prompt, release } = await takeJsonBody(context.req, context.res, limits);
      try {
        const { requestId } = context.state;
        const prepared = await gateway.text.prepare({ ...work, body, parsed, prompt, owner: accountId, requestId });
        const { model, mostTokens: tokens } = prepared;
        await usage.admitted(context, { route: path, model, tokens }, (admitted) =>
          answer(context, prepared, release, admitted),
        );
      } finally {
        release();
      }
    });
  }
}

/** @param release Gives the body's place in the budget back. */
async function answer(
  context: RequestContext,
  prepared: PreparedText,
  release: () => void,
  work: AdmittedWork,
): Promise<void> {
  const exchange = prepared.send();
  work.uses(exchange.ended, exchange.background);
  leaveWithClient(context.res, exchange);
  const said = await exchange.answer;
  // The upstream has the body; what it says may take long.
  release();
  if (exchange.background && said.body instanceof Uint8Array) await work.kept();
  await sendText(context, said);
}
