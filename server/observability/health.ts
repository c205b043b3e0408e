import { monitorEventLoopDelay } from 'node:perf_hooks';
import {
  type Clock,
  type Gateway,
  GatewayError,
  isGatewayError,
  type Need,
  type PlatformInfo,
  type TransientCode,
  Type,
} from 'mediagate';
import { endsWithin } from '../../core/runtime/index.js';
import type { SignInStatus } from '../accounts/index.js';
import { groupEntries } from '../entry-groups.js';
import { defineRoute, type Route, Text } from '../http/index.js';
import { PACKAGE_VERSION } from '../version.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    health: Health;
  }
}

const FRESH_MS = 1_000;
const PATIENCE_MS = 2_000;
/** A loop that was held up this long has made callers wait; below it, it is ordinary work. */
const STALL_MS = 1_000;

export interface HealthOptions {
  gateway: Pick<Gateway, 'plugins' | 'platforms' | 'meets'>;
  /** What the operator means this machine to have; where one of these is missing, health is degraded. */
  wants: readonly Need[];
  clock: Clock;
  /** Named checks that resolve when all is well, e.g. a database ping. Each is asked at most once a second. */
  checks: Readonly<Record<string, () => Promise<unknown>>>;
  /** As `checks`, for what the gateway can do without for a while: where one fails it is degraded, and still ready. */
  softChecks?: Readonly<Record<string, () => Promise<unknown>>>;
  /** How sign-in stands. Default: there is none. */
  signIn?(): SignInStatus;
}

export interface CheckResult {
  ok: boolean;
  ms: number;
  /** Why it is not, where the gateway's own words say so. */
  message?: string;
}

/** `off`: not there, and the operator wants it so. */
interface NeedCheck {
  ok: boolean;
  state: 'ready' | 'missing' | 'off';
}

export interface Health {
  /** Body of `/health`. */
  report(): Promise<object>;
  /** Body of `/health/ready`; `ok` is false where requests should go elsewhere. */
  readiness(): Promise<{ ok: boolean; status: string }>;
  /** From now on the gateway is not ready: it is finishing. */
  startDraining(): void;
  /** Whether what the gateway rests on answers, by name; at most a second old. */
  checks(): Promise<Readonly<Record<string, CheckResult>>>;
  /** Aborts when draining starts: whoever only waits for something ends then. */
  readonly drain: AbortSignal;
  close(): void;
}

export function createHealth({ gateway, wants, clock, checks, softChecks = {}, signIn }: HealthOptions): Health {
  const startedAt = clock.monotonic();
  const loop = monitorEventLoopDelay({ resolution: 100 });
  loop.enable();
  const draining = new AbortController();
  let asked: { at: number; results: Promise<Record<string, CheckResult>> } | undefined;

  async function check(run: () => Promise<unknown>): Promise<CheckResult> {
    const begun = clock.monotonic();
    const answered = async () => ({ ok: await endsWithin(PATIENCE_MS, run, { clock }) });
    const answer = await answered().catch((error: unknown) => ({
      ok: false,
      ...(isGatewayError(error) && { message: error.message }),
    }));
    return { ...answer, ms: Math.round(clock.monotonic() - begun) };
  }

  function checkNeed(need: Need): NeedCheck {
    if (gateway.meets(need)) return { ok: true, state: 'ready' };
    return wants.includes(need) ? { ok: false, state: 'missing' } : { ok: true, state: 'off' };
  }

  function runChecks(): Promise<Record<string, CheckResult>> {
    if (asked && clock.monotonic() - asked.at < FRESH_MS) return asked.results;
    const names = Object.entries({ ...checks, ...softChecks }).map(
      async ([name, run]) => [name, await check(run)] as const,
    );
    asked = { at: clock.monotonic(), results: Promise.all(names).then(Object.fromEntries) };
    return asked.results;
  }

  return {
    async report() {
      const results = await runChecks();
      const stalledMs = Math.round(loop.max / 1e6);
      loop.reset();
      const active = gateway.plugins().filter(({ state }) => state !== 'disabled');
      const plugins = groupEntries(active).map(({ id, state, standIn, reason, entries }) => ({
        id,
        state,
        ...(entries.length > 1 && { entries }),
        ...(standIn && { stand_in: true }),
        ...(reason && { reason }),
      }));
      const all = {
        plugins: { ok: plugins.every(({ state }) => state === 'ready'), entries: plugins },
        platforms: checkPlatforms(gateway.platforms()),
        browser: checkNeed('browser'),
        ffmpeg: checkNeed('ffmpeg'),
        ...(signIn && { sign_in: describeSignIn(signIn()) }),
        ...results,
        event_loop: { ok: stalledMs < STALL_MS, ms: stalledMs },
      };
      return {
        ok: true,
        status: Object.values(all).every(({ ok }) => ok) ? 'ok' : 'degraded',
        version: PACKAGE_VERSION,
        uptime_seconds: Math.floor((clock.monotonic() - startedAt) / 1000),
        checks: all,
      };
    },
    async readiness() {
      if (draining.signal.aborted) return { ok: false, status: 'shutting_down' };
      const failed = Object.entries(await runChecks()).find(([name, { ok }]) => name in checks && !ok);
      return failed ? { ok: false, status: `${failed[0]}_unavailable` } : { ok: true, status: 'ready' };
    },
    checks: runChecks,
    startDraining() {
      draining.abort(new GatewayError('shutting_down', 'The gateway is shutting down; ask again.'));
    },
    drain: draining.signal,
    close() {
      loop.disable();
    },
  };
}

/** An operator who wants nobody to sign in has a healthy gateway. */
function describeSignIn({ state, provider, standIn, reason }: SignInStatus) {
  return {
    ok: true,
    state,
    ...(provider && { provider }),
    ...(standIn && { stand_in: true }),
    ...(reason && { reason }),
  };
}

/** How the process is doing. No key needed; nothing secret in them. */
export function healthRoutes(health: Health): Route[] {
  const answer = { name: 'Health', schema: Type.Object({ ok: Type.Boolean(), status: Text }) };
  const common = {
    method: 'GET',
    grant: 'none',
    tag: 'Process',
    answers: { 200: { description: 'As it is.', ...answer } },
  } as const;
  return [
    defineRoute({
      ...common,
      path: '/health',
      endpoint: 'health',
      summary: 'How the process and each platform are',
      description: 'How the process and each platform are; see Health. Always 200 while it serves.',
      async handler(context) {
        context.body = await health.report();
      },
    }),
    defineRoute({
      ...common,
      path: '/health/live',
      endpoint: 'healthLive',
      summary: 'The process answers',
      handler(context) {
        context.body = { ok: true, status: 'live' };
      },
    }),
    defineRoute({
      ...common,
      path: '/health/ready',
      endpoint: 'healthReady',
      summary: 'Whether requests may be sent here',
      description: '200 where requests may be sent here; 503 while it ends or the database is away.',
      answers: {
        200: { description: 'They may.', ...answer },
        503: { description: 'They may not: it ends, or the database is away.', ...answer },
      },
      async handler(context) {
        const readiness = await health.readiness();
        context.status = readiness.ok ? 200 : 503;
        if (!readiness.ok) context.set('Retry-After', '1');
        context.body = readiness;
      },
    }),
  ];
}

export interface PlatformsCheck {
  /** False where a platform is out. */
  ok: boolean;
  entries: readonly PlatformCheck[];
}

export interface PlatformCheck {
  /** Platform key. */
  key: string;
  /** False where every method that this gateway could use rests: most links of the platform fail until one is rested. */
  ok: boolean;
  /** Why each method rests, and for how many seconds still. */
  resting: readonly { method: string; code: TransientCode; seconds: number }[];
}

/** A method that rests is worth knowing and no more; a platform without any method left is out. */
export function checkPlatforms(platforms: readonly Pick<PlatformInfo, 'key' | 'methods'>[]): PlatformsCheck {
  const entries = platforms.map(({ key, methods }) => ({
    key,
    ok: methods.length === 0 || methods.some(({ available, rest }) => available && !rest),
    resting: methods.flatMap(({ name, rest }) => (rest ? [{ method: name, ...rest }] : [])),
  }));
  return { ok: entries.every(({ ok }) => ok), entries };
}
