import { createAccountView, createSessionService } from './accounts/index.js';
import {
  type AccountContext,
  type AppDependencies,
  createAddressOf,
  createBodyBudget,
  createFixedWindow,
  createPollGuard,
  createSemaphore,
  type ServerContext,
} from './http/index.js';

/** Sounds beyond 1 MiB that are on their way, or in use, at the same time: they are on the disk, not in memory. */
const UPLOADS = 32;
/** Requests with a body above 64 KiB that one account, or key without one, may have refused in a minute. */
const REFUSED_BODIES_PER_MINUTE = 60;
const AUDIO_MAX_BYTES = 25 * 1024 * 1024;
/** Bodies of callers without a key or a session: they are small, and have a room of their own. */
const PUBLIC_BODIES = { smallBytes: 4 * 1024 * 1024, maxMs: 10_000 };

export function createServerContext(dependencies: AppDependencies): ServerContext {
  const { clock, health, metrics, trustedProxies = [], refusedBodiesPerMinute } = dependencies;
  const refusals = createFixedWindow(clock, refusedBodiesPerMinute ?? REFUSED_BODIES_PER_MINUTE);
  const bodies = createBodyBudget({ refusals });
  metrics?.watch({ bodies });
  return {
    ...dependencies,
    audioMaxBytes: dependencies.audioMaxBytes ?? AUDIO_MAX_BYTES,
    messagesEnabled: dependencies.messagesEnabled ?? false,
    addressOf: createAddressOf(trustedProxies),
    bodies,
    uploads: createBodyBudget({ bigBodies: UPLOADS, refusals }),
    polls: createPollGuard(clock),
    waiting: createSemaphore(),
    drain: health.drain,
    routes: [],
  };
}

/** Undefined where there are no accounts. */
export function createAccountContext(server: ServerContext): AccountContext | undefined {
  const { account, budgets, ledger, windows, imageDailyLimit, clock } = server;
  if (!account) return undefined;
  const { state, site } = account;
  const { accounts, keys, jobs } = state;
  return {
    ...server,
    account,
    sessions: createSessionService(state.sessions, site),
    view: createAccountView({ accounts, keys, jobs, budgets, ledger, windows, imageDailyLimit, clock }),
    publicBodies: createBodyBudget(PUBLIC_BODIES),
  };
}
