/*
 * Health of the process: the report of `/health`, readiness and liveness. Each check runs at most once a second and
 * counts as failed after 2 s, so monitoring never queues up behind a slow dependency. A failed hard check, such as the
 * database, makes the node not ready; a failed soft check, a missing program or a platform without a method only
 * degrades the report, whose status is always 200. From the beginning of the shutdown the node is not ready, and a
 * signal ends requests that only wait. Nothing in the answers is secret.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Gateway } from 'mediagate';
import { field, type Need, optional, type PlatformInfo, Type } from '../../core/contracts/index.js';
import { type Clock, endsWithin, GatewayError, isGatewayError, type TransientCode } from '../../core/runtime/index.js';
import type { SignInStatus } from '../accounts/index.js';
import { isoTime } from '../format/index.js';
import { defineRoute, type RequestContext, type Route, Text } from '../http/index.js';
import { groupEntries } from '../plugin-groups.js';
import type { ProbeResult } from '../probes/index.js';
import { PACKAGE_VERSION } from '../version.js';

const FRESH_MS = 1_000;
const TIMEOUT_MS = 2_000;
const PROBE_FRESH_MS = 10_000;
/** What an older probe found says nothing about now. */
const PROBE_MS = 24 * 3_600_000;
/** An event loop that was blocked this long has made callers wait; below it, it is ordinary work. */
const STALL_MS = 1_000;

export interface HealthOptions {
  gateway: Pick<Gateway, 'plugins' | 'platforms' | 'meets'>;
  /** Capabilities that the operator expects on this machine; if one is missing, health is degraded. */
  wants: readonly Need[];
  clock: Clock;
  /** Named checks that resolve if all is well, e.g. a database ping. Each runs at most once a second. */
  checks: Readonly<Record<string, () => Promise<unknown>>>;
  /** Checks of dependencies that may be unavailable for a while: if one fails, health is degraded but ready. */
  softChecks?: Readonly<Record<string, () => Promise<unknown>>>;
  /** Status of the sign-in. Default: none. */
  signIn?(): SignInStatus;
  /** The last live probe of each platform. Default: none. */
  probes?(): Promise<readonly ProbeResult[]>;
}

export interface CheckResult {
  ok: boolean;
  ms: number;
  /** The failure, if the gateway's own message explains it. */
  message?: string;
}

/** `off`: disabled by the operator. */
interface NeedCheck {
  ok: boolean;
  state: 'ready' | 'missing' | 'off';
}

export class Health {
  readonly #options: HealthOptions;
  readonly #startedAt: number;
  readonly #loop = monitorEventLoopDelay({ resolution: 100 });
  readonly #draining = new AbortController();
  #staysReady = false;
  #asked: { at: number; results: Promise<Record<string, CheckResult>> } | undefined;
  #probed: { at: number; results: Promise<readonly ProbeResult[]> } | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.#loop.enable();
  }

  /** Aborts when the shutdown begins: pure waits end then. */
  get drain(): AbortSignal {
    return this.#draining.signal;
  }

  /** Body of `/health`. */
  async report(): Promise<object> {
    const { gateway, clock, signIn } = this.#options;
    const [results, probes] = await Promise.all([this.checks(), this.#probes()]);
    const stalledMs = Math.round(this.#loop.max / 1e6);
    this.#loop.reset();
    const all = {
      plugins: checkPlugins(gateway.plugins()),
      platforms: checkPlatforms(gateway.platforms()),
      browser: this.#checkNeed('browser'),
      ffmpeg: this.#checkNeed('ffmpeg'),
      ...(signIn && { sign_in: describeSignIn(signIn()) }),
      ...(probes.length > 0 && { live_probe: describeProbes(probes, clock.now()) }),
      ...results,
      event_loop: { ok: stalledMs < STALL_MS, ms: stalledMs },
    };
    return {
      ok: true,
      status: Object.values(all).every(({ ok }) => ok) ? 'ok' : 'degraded',
      version: PACKAGE_VERSION,
      uptime_seconds: Math.floor((clock.monotonic() - this.#startedAt) / 1000),
      checks: all,
    };
  }

  /** Body of `/health/ready`; `ok` is false if requests should go to other nodes. */
  async readiness(): Promise<{ ok: boolean; status: string }> {
    if (this.drain.aborted && !this.#staysReady) return { ok: false, status: 'shutting_down' };
    const { checks } = this.#options;
    const failed = Object.entries(await this.checks()).find(([name, { ok }]) => name in checks && !ok);
    return failed ? { ok: false, status: `${failed[0]}_unavailable` } : { ok: true, status: 'ready' };
  }

  /** Whether the gateway's dependencies answer, by name; at most a second old. */
  checks(): Promise<Readonly<Record<string, CheckResult>>> {
    const { clock, checks, softChecks = {} } = this.#options;
    if (this.#asked && clock.monotonic() - this.#asked.at < FRESH_MS) return this.#asked.results;
    const named = Object.entries({ ...checks, ...softChecks }).map(
      async ([name, run]) => [name, await runCheck(run, clock)] as const,
    );
    this.#asked = { at: clock.monotonic(), results: Promise.all(named).then(Object.fromEntries) };
    return this.#asked.results;
  }

  /**
   * This process is shutting down: pure waits end, and each answer is the last of its connection.
   * @param options `staysReady`: other workers serve on, so the gateway is still ready. Default false.
   */
  startDraining({ staysReady = false }: { staysReady?: boolean } = {}): void {
    this.#staysReady = staysReady;
    this.#draining.abort(new GatewayError('shutting_down', 'The gateway is shutting down. Retry the request.'));
  }

  close(): void {
    this.#loop.disable();
  }

  /** At most ten seconds old; none while the database is unavailable. */
  #probes(): Promise<readonly ProbeResult[]> {
    const { clock, probes } = this.#options;
    if (!probes) return Promise.resolve([]);
    if (this.#probed && clock.monotonic() - this.#probed.at < PROBE_FRESH_MS) return this.#probed.results;
    const read = async () => {
      let found: readonly ProbeResult[] = [];
      const work = async () => {
        found = await probes();
      };
      await endsWithin(TIMEOUT_MS, work, { clock }).catch(() => undefined);
      return found;
    };
    this.#probed = { at: clock.monotonic(), results: read() };
    return this.#probed.results;
  }

  #checkNeed(need: Need): NeedCheck {
    const { gateway, wants } = this.#options;
    if (gateway.meets(need)) return { ok: true, state: 'ready' };
    return wants.includes(need) ? { ok: false, state: 'missing' } : { ok: true, state: 'off' };
  }
}

async function runCheck(run: () => Promise<unknown>, clock: Clock): Promise<CheckResult> {
  const begun = clock.monotonic();
  const answered = async () => ({ ok: await endsWithin(TIMEOUT_MS, run, { clock }) });
  const answer = await answered().catch((error: unknown) => ({
    ok: false,
    ...(isGatewayError(error) && { message: error.message }),
  }));
  return { ...answer, ms: Math.round(clock.monotonic() - begun) };
}

function checkPlugins(plugins: ReturnType<Gateway['plugins']>) {
  const active = plugins.filter(({ state }) => state !== 'disabled');
  const entries = groupEntries(active).map(({ id, state, standIn, reason, entries }) => ({
    id,
    state,
    ...(entries.length > 1 && { entries }),
    ...(standIn && { stand_in: true }),
    ...(reason && { reason }),
  }));
  return { ok: entries.every(({ state }) => state === 'ready'), entries };
}

/** Failures of the last day count. */
function describeProbes(probes: readonly ProbeResult[], now: number) {
  const entries = probes.map(({ platform, at, passed, failed }) => ({
    key: platform,
    ok: failed === 0 || now - at > PROBE_MS,
    at: isoTime(at),
    passed,
    failed,
  }));
  return { ok: entries.every(({ ok }) => ok), entries };
}

/** A gateway without sign-in is healthy if the operator wants that. */
function describeSignIn({ state, oidc, provider, standIn, reason, passkeys }: SignInStatus) {
  const isUsed = oidc === 'ready' || passkeys.state === 'off';
  return {
    ok: true,
    state,
    ...(provider && isUsed && { provider }),
    ...(standIn && isUsed && { stand_in: true }),
    ...(passkeys.state === 'ready' && { passkeys: passkeys.host }),
    ...(state === 'off' && reason && { reason: [reason, passkeys.reason].join(' ') }),
  };
}

const HealthSchema = Type.Object(
  {
    ok: field(Type.Boolean(), 'Whether requests may be sent to this process.'),
    status: field(
      Text,
      '`ok`, or `degraded` if a part fails while others work; `live`; `ready`, or why it is not ready.',
      'ok',
    ),
    version: optional(Text, 'Version of the package. Only in `/health`.'),
    uptime_seconds: optional(Type.Integer(), 'Seconds since the start. Only in `/health`.'),
    checks: optional(
      Type.Record(
        Type.String(),
        Type.Object({ ok: field(Type.Boolean(), 'Whether the part works.') }, { additionalProperties: true }),
      ),
      'The state of each part: plugins, platforms, browser, ffmpeg, the last live probe, database. Only in `/health`.',
    ),
  },
  { description: 'Health of the process.' },
);
const answerOf = (description: string) => ({ description, name: 'Health', schema: HealthSchema });

/** Declarations that the routes share. */
const HEALTH_ROUTE = {
  method: 'GET',
  grant: 'none',
  tag: 'Process',
  answers: { 200: answerOf('The current state.') },
} as const;

/** Health of the process. No key needed; contains nothing secret. */
export function healthRoutes(health: Health): Route[] {
  return [
    defineRoute({
      ...HEALTH_ROUTE,
      path: '/health',
      endpoint: 'health',
      summary: 'Health report',
      description:
        'Reports the health of the process, its plugins and each platform. The status is always 200; `status` in the body is `ok` or `degraded`.',
      async handler(context) {
        context.body = await health.report();
      },
    }),
    defineRoute({
      ...HEALTH_ROUTE,
      path: '/api/hello',
      answers: {
        200: { description: 'The process answers.', schema: Type.Object({ message: field(Text, 'A greeting.') }) },
      },
      summary: 'Reachability for coding agents',
      description: 'Answers 200. Claude Code asks it, by HEAD, whether its base URL can be reached.',
      handler(context) {
        context.body = { message: 'hello' };
      },
    }),
    defineRoute({
      ...HEALTH_ROUTE,
      path: '/health/live',
      endpoint: 'healthLive',
      summary: 'Liveness',
      description: 'Answers 200 while the process runs.',
      handler(context) {
        context.body = { ok: true, status: 'live' };
      },
    }),
    defineRoute({
      ...HEALTH_ROUTE,
      path: '/health/ready',
      endpoint: 'healthReady',
      summary: 'Readiness',
      description:
        'Answers 200 if requests may be sent to this process; 503 while it shuts down or the database is unavailable.',
      answers: {
        200: answerOf('The process is ready.'),
        503: answerOf('The process shuts down, or the database is unavailable.'),
      },
      handler: (context) => sendReadiness(health, context),
    }),
  ];
}

async function sendReadiness(health: Health, context: RequestContext): Promise<void> {
  const readiness = await health.readiness();
  context.status = readiness.ok ? 200 : 503;
  if (!readiness.ok) context.set('Retry-After', '1');
  context.body = readiness;
}

export interface PlatformsCheck {
  /** False if a platform is unavailable. */
  ok: boolean;
  entries: readonly PlatformCheck[];
}

export interface PlatformCheck {
  /** Platform key. */
  key: string;
  /** False if every available method is in cool-down: most links of the platform fail until one has recovered. */
  ok: boolean;
  /** The methods in cool-down, with cause and remaining seconds. */
  resting: readonly { method: string; code: TransientCode; seconds: number }[];
}

/** A method in cool-down is information only; a platform without any method is unavailable. */
export function checkPlatforms(platforms: readonly Pick<PlatformInfo, 'key' | 'methods'>[]): PlatformsCheck {
  const entries = platforms.map(({ key, methods }) => ({
    key,
    ok:
      methods.length === 0 ||
      methods.some(({ available, coolDown, supplements }) => available && !coolDown && !supplements),
    resting: methods.flatMap(({ name, coolDown }) => (coolDown ? [{ method: name, ...coolDown }] : [])),
  }));
  return { ok: entries.every(({ ok }) => ok), entries };
}
