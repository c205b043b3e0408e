/*
 * Lists of the jobs of an account, newest first, in pages of at most 100. A list of one kind of jobs declares its states
 * and how a job is shown. One more job than asked for is read, to know whether there are older ones.
 */

import { field, type JobState, type TSchema, Type } from '../../core/contracts/index.js';
import { isGatewayError } from '../../core/runtime/index.js';
import type { ParamsContext } from './koa-app.js';
import { fieldError } from './request.js';
import { Nullable, OneOf, Text } from './route.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** State of a job → state in the API. */
type States = Readonly<Record<JobState, string>>;

interface ListedJobs<Job extends { id: string }> {
  states: States;
  /** At most `limit` jobs, newest first. @throws GatewayError `job_not_found` if there is no job `after`. */
  read(limit: number, filter: { state?: JobState; after?: string }): Promise<readonly Job[]>;
  /** A job as it is shown. */
  show(job: Job): object;
}

export const JOB_LIST_ERRORS = ['job_not_found', 'rate_limit_exceeded', 'invalid_value'] as const;

/** The query parameters of a list. */
export function jobListQuery(states: States) {
  return {
    status: { schema: OneOf(...Object.values(states)), description: 'Only jobs in this state. Default: all.' },
    limit: {
      schema: Type.Integer({ minimum: 1, maximum: MAX_LIMIT }),
      description: `Maximum number of jobs. Default ${DEFAULT_LIMIT}.`,
    },
    after: { schema: Type.String(), description: 'Id of a job: the list continues with the next older one.' },
  };
}

/** The schema of a list. @param jobs Describes `data`. */
export function jobListSchema(job: TSchema, { jobs, description }: { jobs: string; description: string }) {
  return Type.Object(
    {
      object: field(Type.Literal('list'), 'Always `list`.'),
      data: field(Type.Array(job), jobs),
      has_more: field(Type.Boolean(), 'Whether there are older jobs. Continue with `after` and the `last_id`.'),
      first_id: field(Nullable(Text), 'Id of the first job. Null if the list is empty.'),
      last_id: field(Nullable(Text), 'Id of the last job. Null if the list is empty.'),
    },
    { description },
  );
}

/** @throws GatewayError `invalid_value`, `job_not_found` with `param`. */
export async function sendJobList<Job extends { id: string }>(
  context: ParamsContext,
  { states, read, show }: ListedJobs<Job>,
): Promise<void> {
  const { limit, ...filter } = readPage(context, states);
  // One more shows whether there are more.
  const jobs = await read(limit + 1, filter).catch((error: unknown) => {
    throw isGatewayError(error) && error.code === 'job_not_found' ? error.with({ param: 'after' }) : error;
  });
  const page = jobs.slice(0, limit);
  context.set('Cache-Control', 'private, no-cache');
  context.type = 'json';
  context.body = JSON.stringify({
    object: 'list',
    data: page.map(show),
    has_more: jobs.length > limit,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  });
}

/** @throws GatewayError `invalid_value`. */
function readPage({ query }: ParamsContext, states: States) {
  const accepted = {
    status: Object.values(states).join(', '),
    limit: `a whole number from 1 to ${MAX_LIMIT}`,
    after: 'the id of a job of this account',
  };
  const refuse = (param: string) => fieldError({ path: param }, accepted);
  const { status, limit = String(DEFAULT_LIMIT), after } = query;
  const [state] = Object.entries(states).find(([, name]) => name === status) ?? [];
  if (status !== undefined && state === undefined) throw refuse('status');
  if (after !== undefined && typeof after !== 'string') throw refuse('after');
  const count = typeof limit === 'string' && /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > MAX_LIMIT) throw refuse('limit');
  return { limit: count, state: state as JobState | undefined, after };
}
