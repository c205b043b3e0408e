/*
 * Lists the image jobs of the key's account. Images are links here, never base64.
 */

import {
  defineRoute,
  JOB_LIST_ERRORS,
  jobListQuery,
  jobListSchema,
  type Route,
  type ServerContext,
  sendJobList,
} from '../http/index.js';
import { pollingKeyOf } from '../keys/index.js';
import { encodeImageJob, ImageJobSchema, STATUS } from './image-answers.js';
import { IMAGE_ROUTE } from './image-request.js';

const ListSchema = jobListSchema(ImageJobSchema, {
  jobs: 'The jobs, newest first. Base64 of images is null: read the job for it.',
  description: 'Image jobs of an account.',
});

/** The image jobs of the account of a key, in pages. */
export function imageListRoutes({
  gateway,
  polls,
  clock,
  baseUrl,
}: Pick<ServerContext, 'gateway' | 'polls' | 'clock' | 'baseUrl'>): Route[] {
  return [
    defineRoute({
      ...IMAGE_ROUTE,
      method: 'GET',
      path: '/v1/images/jobs',
      endpoint: 'imageJobs',
      summary: 'List image jobs',
      description: "Returns the image jobs of the key's account, newest first, in pages.",
      query: jobListQuery(STATUS),
      answers: {
        200: { description: 'The jobs, newest first.', name: 'ImageJobList', schema: ListSchema },
      },
      errors: JOB_LIST_ERRORS,
      handler: (context) => {
        const { accountId } = pollingKeyOf(context, polls);
        const answer = { baseUrl: baseUrl(), now: clock.now() };
        return sendJobList(context, {
          states: STATUS,
          read: (limit, filter) => gateway.images.list(accountId, limit, filter),
          show: (job) => encodeImageJob(job, answer),
        });
      },
    }),
  ];
}
