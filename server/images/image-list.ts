/*
 * Lists the image jobs of the key's account, newest first, in pages of at most 100. One more job than asked for is
 * read, to know whether there are older ones. Images are links here, never base64.
 */

import { field, type JobState, Type } from '../../core/contracts/index.js';
import { isGatewayError } from '../../core/runtime/index.js';
import {
  defineRoute,
  fieldError,
  Nullable,
  OneOf,
  type ParamsContext,
  type Route,
  type ServerContext,
  Text,
} from '../http/index.js';
import { pollingKeyOf } from '../keys/index.js';
import { encodeImageJob, ImageJobSchema, STATUS } from './image-answers.js';
import { IMAGE_ROUTE } from './image-request.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** State in the API → state of the job. */
const STATES: ReadonlyMap<string, JobState> = new Map(
  Object.entries(STATUS).map(([state, status]) => [status, state as JobState]),
);

/** What each parameter accepts, for error messages. */
const ACCEPTED = {
  status: [...STATES.keys()].join(', '),
  limit: `a whole number from 1 to ${MAX_LIMIT}`,
  after: 'the id of a job of this account',
};

const ListSchema = Type.Object(
  {
    object: field(Type.Literal('list'), 'Always `list`.'),
    data: field(Type.Array(ImageJobSchema), 'The jobs, newest first. Base64 of images is null: read the job for it.'),
    has_more: field(Type.Boolean(), 'Whether there are older jobs. Continue with `after` and the `last_id`.'),
    first_id: field(Nullable(Text), 'Id of the first job. Null if the list is empty.'),
    last_id: field(Nullable(Text), 'Id of the last job. Null if the list is empty.'),
  },
  { description: 'Image jobs of an account.' },
);

/** The image jobs of the account of a key, in pages. */
export function imageListRoutes({
  gateway,
  polls,
  clock,
  baseUrl,
}: Pick<ServerContext, 'gateway' | 'polls' | 'clock' | 'baseUrl'>): Route[] {
  async function list(context: ParamsContext): Promise<void> {
    const { accountId } = pollingKeyOf(context, polls);
    const { limit, state, after } = readPage(context);
    // One more shows whether there are more.
    const jobs = await gateway.images.list(accountId, limit + 1, { state, after }).catch((error: unknown) => {
      throw isGatewayError(error) && error.code === 'job_not_found' ? error.with({ param: 'after' }) : error;
    });
    const page = jobs.slice(0, limit);
    const answer = { baseUrl: baseUrl(), now: clock.now() };
    context.set('Cache-Control', 'private, no-cache');
    context.type = 'json';
    context.body = JSON.stringify({
      object: 'list',
      data: page.map((job) => encodeImageJob(job, answer)),
      has_more: jobs.length > limit,
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
    });
  }

  return [
    defineRoute({
      ...IMAGE_ROUTE,
      method: 'GET',
      path: '/v1/images/jobs',
      endpoint: 'imageJobs',
      summary: 'List image jobs',
      description: "Returns the image jobs of the key's account, newest first, in pages.",
      query: {
        status: { schema: OneOf(...STATES.keys()), description: 'Only jobs in this state. Default: all.' },
        limit: {
          schema: Type.Integer({ minimum: 1, maximum: MAX_LIMIT }),
          description: `Maximum number of jobs. Default ${DEFAULT_LIMIT}.`,
        },
        after: { schema: Type.String(), description: 'Id of a job: the list continues with the next older one.' },
      },
      answers: {
        200: { description: 'The jobs, newest first.', name: 'ImageJobList', schema: ListSchema },
      },
      errors: ['job_not_found', 'rate_limit_exceeded', 'invalid_value'],
      handler: list,
    }),
  ];
}

/** @throws GatewayError `invalid_value`. */
function readPage({ query }: ParamsContext) {
  const refuse = (param: string) => fieldError({ path: param }, ACCEPTED);
  const { status, limit = String(DEFAULT_LIMIT), after } = query;
  const state = typeof status === 'string' ? STATES.get(status) : undefined;
  if (status !== undefined && state === undefined) throw refuse('status');
  if (after !== undefined && typeof after !== 'string') throw refuse('after');
  const count = typeof limit === 'string' && /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > MAX_LIMIT) throw refuse('limit');
  return { limit: count, state, after };
}
