/*
 * The routes by which a signed-in user exports or deletes the account, and the loop that finishes erasures. A user may
 * export four times a minute. Deletion needs a browser session: a program that a person let in must not delete the
 * account. The request waits at most 10 s for jobs and files; the rest is deleted after the answer, which says so. The
 * loop repeats open erasures at the start and every minute; all nodes may run it, and a response that its upstream no
 * longer has counts as deleted.
 */

import type { Gateway } from 'mediagate';
import { field, type Storage, Type } from '../../core/contracts/index.js';
import { GatewayError, isGatewayError, type Logger, type PollLoop, startPollLoop } from '../../core/runtime/index.js';
import type { AccountServices } from '../accounts/index.js';
import { isoTime } from '../format/index.js';
import {
  AddressLimit,
  JSON_TYPE,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  sendBytes,
  Text,
  Time,
} from '../http/index.js';
import type { KeyTable } from '../keys/index.js';
import type { ErasureWork } from '../personal-records/index.js';
import type { Erasures } from './erasure.js';
import type { PersonalExport } from './export.js';

/** An export reads everything that an account has. */
const EXPORTS_PER_MINUTE = 4;
/** Time that a request waits for the erasure of jobs and files; the rest is erased after its answer. */
const ANSWER_MS = 10_000;
const SWEEP_MS = 60_000;

interface PersonalDataServices extends AccountServices {
  erasures: Erasures;
  personalExport: PersonalExport;
  files: Storage;
  keys: KeyTable;
}

const EXPORT: RouteDeclaration = {
  method: 'GET',
  path: '/api/user/export',
  grant: 'session',
  tag: 'Account',
  endpoint: 'userExport',
  summary: 'Export the account',
  description:
    'Returns everything stored about the account as one JSON file: profile, keys without secrets, orders, usage, jobs.',
  answers: {
    200: {
      description: 'The copy, as an attachment.',
      schema: Type.Object({ exportedAt: field(Time, 'When the copy was made (RFC 3339).') }),
    },
  },
  errors: ['rate_limit_exceeded'],
};

const ERASE: RouteDeclaration = {
  method: 'DELETE',
  path: '/api/user',
  grant: 'session',
  browserOnly: true,
  tag: 'Account',
  endpoint: 'user',
  summary: 'Delete the account',
  description: 'Deletes the account permanently, only from a browser session. The accounting records of orders stay.',
  answers: {
    200: {
      description: 'Erased. `complete` is false while jobs and files are still being deleted.',
      schema: Type.Object({
        erased: field(
          Type.Object({
            id: field(Text, 'Id of the user.'),
            erasedAt: field(Time, 'When the erasure began (RFC 3339).'),
          }),
          'The erased user.',
        ),
        complete: field(Type.Boolean(), 'False while jobs and files are still being deleted.'),
      }),
    },
  },
};

/** Erasure of the signed-in user, and a copy of their data. */
export function personalDataRoutes(services: PersonalDataServices): Route[] {
  const { clock, siblings } = services;
  const exports = new AddressLimit({
    clock,
    siblings,
    name: 'exports',
    perMinute: EXPORTS_PER_MINUTE,
    what: 'Too many exports',
  });
  return [
    { ...EXPORT, handler: (context) => exportAccount(services, context, exports) },
    { ...ERASE, handler: (context) => eraseAccount(services, context) },
  ];
}

async function exportAccount(
  { sessions, personalExport }: PersonalDataServices,
  context: RequestContext,
  exports: { admit(id: string): void },
): Promise<void> {
  const { user } = await sessions.require(context);
  exports.admit(user.id);
  context.set({
    'Content-Type': JSON_TYPE,
    'Content-Disposition': `attachment; filename="mediagate-${user.id}.json"`,
    'Cache-Control': 'no-store',
  });
  sendBytes(context, personalExport.read(user));
}

async function eraseAccount(services: PersonalDataServices, context: RequestContext): Promise<void> {
  const { erasures, sessions, keys, polls } = services;
  const { user, session } = await sessions.require(context);
  // A program that a person let in must not delete their account.
  if (session.kind !== 'browser') throw new GatewayError('not_signed_in', 'Do this in a browser.');
  polls.admit(user.id);
  const { accountId, startedAt } = await erasures.begin({ userId: user.id, actor: `user:${user.id}` });
  await keys.refresh();
  const complete = await eraseNow(services, accountId);
  await sessions.end(context);
  context.body = { erased: { id: user.id, erasedAt: isoTime(startedAt) }, complete };
}

/** False if some is left for the sweep. */
async function eraseNow(services: PersonalDataServices, accountId: string): Promise<boolean> {
  const { erasures, logger } = services;
  const work = { ...erasureWork(services), signal: AbortSignal.timeout(ANSWER_MS) };
  try {
    await erasures.work(accountId, work);
    return true;
  } catch (error) {
    if (!work.signal.aborted) logger.warn('an erasure is not complete; retried every minute', { error });
    return false;
  }
}

export interface ErasureParts {
  gateway: Pick<Gateway, 'text'>;
  files: Storage;
}

/** What a server needs to erase: the files, and the upstreams that store responses. */
export function erasureWork({ gateway, files }: ErasureParts): ErasureWork {
  async function ask(action: 'cancel' | 'delete', responseId: string, owner: string): Promise<void> {
    const exchange = await gateway.text.stored({ action, responseId, owner, query: '', requestId: responseId });
    const { body } = await exchange.answer;
    if (!(body instanceof Uint8Array)) exchange.leave();
    await exchange.ended;
  }

  return {
    files,
    async deleteResponse({ id, owner, isOpen }) {
      try {
        if (isOpen) await ask('cancel', id, owner).catch(() => undefined);
        await ask('delete', id, owner);
      } catch (error) {
        // The upstream has forgotten it, or cannot delete.
        if (isGatewayError(error) && error.code === 'response_not_found') return;
        throw error;
      }
    },
  };
}

export interface ErasureSweepOptions extends ErasureParts {
  erasures: Pick<Erasures, 'sweep'>;
  logger: Logger;
}

/** Continues open erasures at the start and every minute. All nodes may do it. */
export function startErasureSweep({ erasures, logger, ...parts }: ErasureSweepOptions): { close(): Promise<void> } {
  const closing = new AbortController();
  const { signal } = closing;
  const polling: PollLoop = startPollLoop({
    intervalMs: SWEEP_MS,
    work: async () => {
      await erasures.sweep({ ...erasureWork(parts), signal });
    },
    report: (error) => {
      if (!signal.aborted) logger.warn('erasures could not be continued; retried in a minute', { error });
    },
  });
  return {
    async close() {
      closing.abort();
      await polling.stop();
    },
  };
}
