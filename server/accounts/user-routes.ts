import type Router from '@koa/router';
import { type Clock, GatewayError } from 'mediagate';
import type {
  BodyBudget,
  Next,
  ParamsContext,
  PollGuard,
  RequestContext,
  RequestState,
  SiteAddress,
} from '../http/index.js';
import { createAddressLimit, readJsonBody, sendJson } from '../http/index.js';
import { markReplayed, readIdempotencyKey } from '../idempotency/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { readRangeQuery } from '../usage/index.js';
import { decodeKeyBody, decodeRotationBody, encodeAccountKey, MAX_KEY_BODY_BYTES } from './account-key.js';
import type { AccountView } from './account-overview.js';
import { type AccountAnswer, encodeOverview } from './account-user.js';
import type { KeyDesk, MadeKey, Repeat } from './key-desk.js';
import { type SessionDesk, shownToken } from './sessions.js';
import { createSignedInGuard } from './signed-in.js';

export interface UserRoutes extends Pick<AccountAnswer, 'catalogue'> {
  sessions: SessionDesk;
  view: AccountView;
  keyDesk: KeyDesk;
  bodies: BodyBudget;
  polls: PollGuard;
  clock: Clock;
  site(): SiteAddress;
  /** Says in refusals where to sign in. */
  notice(context: RequestContext, next: Next): Promise<unknown>;
  /** Lets through what the site's own pages send. */
  sameOrigin(context: RequestContext, next: Next): Promise<void>;
}

/** Of one person: each new key, also one that takes the place of another, begins with a window of its own. */
const KEYS_PER_MINUTE = 20;

/** The account of whoever is signed in, and its API keys. */
export function addUserRoutes(router: Router<RequestState>, options: UserRoutes): void {
  const { sessions, view, keyDesk, bodies, polls, catalogue, clock, site, notice, sameOrigin } = options;
  const signedIn = createSignedInGuard(sessions);
  const keysMade = createAddressLimit({ clock, perMinute: KEYS_PER_MINUTE, what: 'Too many new keys' });

  router.get('/api/user', notice, async (context: RequestContext) => {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    const now = clock.now();
    const overview = await view.overview(user, readRangeQuery(context.query, now));
    sendJson(context, encodeOverview(overview, { catalogue, now }), 'private');
  });

  router.post('/api/user', notice, signedIn, sameOrigin, async (context: RequestContext) => {
    const { accountId, body, repeat } = await beginKey(context);
    sendMade(context, await keyDesk.makeFirst({ accountId, name: decodeKeyBody(body), repeat }));
  });

  router.post('/api/user/keys', notice, signedIn, sameOrigin, async (context: RequestContext) => {
    const { accountId, body, repeat } = await beginKey(context);
    sendMade(context, await keyDesk.makeFurther({ accountId, name: decodeKeyBody(body), repeat }));
  });

  router.post('/api/user/rotate', notice, signedIn, sameOrigin, async (context: RequestContext) => {
    const { accountId, body, repeat } = await beginKey(context);
    const made = await keyDesk.rotate({ accountId, ...decodeRotationBody(body), repeat });
    sendMade(context, made, { replaced: encodeAccountKey(made.replaced, clock.now()) });
  });

  router.post('/api/user/keys/:id/revoke', notice, signedIn, sameOrigin, async (context: ParamsContext) => {
    const { accountId, body } = await begin(context);
    refuseMembers(body);
    const record = await keyDesk.revoke(accountId, context.params.id ?? '');
    context.body = { key: encodeAccountKey(record, clock.now()) };
  });

  router.delete('/api/user', notice, signedIn, sameOrigin, async (context: RequestContext) => {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    const revoked = await keyDesk.revokeAll(user.accountId);
    context.body = { revoked: revoked.map((record) => encodeAccountKey(record, clock.now())) };
  });

  async function beginKey(context: RequestContext) {
    const { user } = await sessions.require(context);
    keysMade.admit(user.id);
    return begin(context);
  }

  /** Whose keys these are, and what is asked. Reads the body only of whoever is signed in. */
  async function begin(context: RequestContext) {
    const { req: request, res: response } = context;
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    const limits = { maxBytes: MAX_KEY_BODY_BYTES, budget: bodies, owner: user.accountId };
    const body = await readJsonBody(request, response, limits);
    return { accountId: user.accountId, body, repeat: repeatOf(context, site()) };
  }

  function sendMade(context: RequestContext, { key, record, replayed }: MadeKey, more: object = {}): void {
    if (replayed) markReplayed(context.res);
    context.status = 201;
    context.body = { apiKey: key, key: encodeMade(record), ...more };
  }

  const encodeMade = (record: ApiKeyRecord) => encodeAccountKey(record, clock.now());
}

/** A request is the same one again where session and Idempotency-Key are. */
function repeatOf(context: RequestContext, site: SiteAddress): Repeat | undefined {
  const key = readIdempotencyKey(context.req.headers);
  const shown = shownToken(context, site);
  return key !== undefined && shown ? { secret: shown.token, key } : undefined;
}

function refuseMembers(body: Readonly<Record<string, unknown>>): void {
  const [member] = Object.keys(body);
  if (member === undefined) return;
  throw new GatewayError('unsupported_parameter', 'The body has a member that is not known here.', {
    param: member.slice(0, 100),
  });
}
