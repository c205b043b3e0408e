/*
 * Background jobs of links: list, poll, cancel. A list has no documents; a poll has the document of a completed job, or
 * its info dict for yt-dlp. A job that has not completed is answered in its own form in either case.
 */

import { type ExtractionJob, Type } from '../../core/contracts/index.js';
import {
  clientSignal,
  fieldError,
  JOB_LIST_ERRORS,
  JSON_TYPE,
  jobListQuery,
  jobListSchema,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  sendJobList,
} from '../http/index.js';
import { pollingKeyOf } from '../keys/index.js';
import { LinkTranscripts } from '../transcripts/index.js';
import { EXTRACTION, ListedJob } from './answer-schemas.js';
import { encodeJob, encodeListedJob, isOpen, type JobAnswer, POLL_AFTER_SECONDS, STATUS } from './answers.js';
import type { JobAnswerFields } from './extract-fields.js';
import { LINK_ROUTE } from './link-route.js';
import type { LinkServices } from './link-usage.js';
import { mediaIssuer } from './media.js';
import { encodeInfoDict, INFO_ANSWER, INFO_QUERY, INFO_TYPE, wantsInfoDict } from './yt-dlp.js';

const ROUTE = '/v1/extract/jobs';

const LIST: RouteDeclaration = {
  ...LINK_ROUTE,
  method: 'GET',
  path: ROUTE,
  endpoint: 'extractJobs',
  summary: 'List extraction jobs',
  description: "Returns the background jobs that the key's account submitted, newest first, in pages.",
  query: jobListQuery(STATUS),
  answers: {
    200: {
      description: 'The jobs, newest first.',
      name: 'ExtractionJobList',
      schema: jobListSchema(ListedJob, {
        jobs: 'The jobs, newest first, without documents: read the job for its document.',
        description: 'Extraction jobs of an account.',
      }),
    },
  },
  errors: JOB_LIST_ERRORS,
};

/** Declarations that the routes of one job share. */
const ONE_JOB = {
  ...LINK_ROUTE,
  path: `${ROUTE}/:id`,
  endpoint: 'extractJob',
  parameter: 'job_id',
  params: { id: { description: 'Id of the job.', example: 'exjob_0123456789abcdef' } },
} as const;

const Flag = Type.Union([Type.Literal('true'), Type.Literal('false')]);

const GET_JOB: RouteDeclaration = {
  ...ONE_JOB,
  method: 'GET',
  summary: 'Get an extraction job',
  description: 'Returns the status of a background job, and its document when it has completed.',
  query: {
    include_media_links: {
      schema: Flag,
      description: 'As the field of the request. Default: as in the request; true on the site.',
    },
    include_audio_mp3: { schema: Flag, description: 'As the field of the request. Default: as in the request.' },
    include_transcript: {
      schema: Flag,
      description:
        'As the field of the request. Speech recognition begins at the first such poll of a completed job. Default: as in the request.',
    },
    ...INFO_QUERY,
  },
  answers: {
    200: { description: 'The job, with its document when it has completed.', ...EXTRACTION, also: INFO_ANSWER },
  },
  errors: ['job_not_found', 'rate_limit_exceeded', 'invalid_value', 'unsupported_value'],
};

const CANCEL_JOB: RouteDeclaration = {
  ...ONE_JOB,
  method: 'DELETE',
  summary: 'Cancel an extraction job',
  description: 'Cancels a background job that has not ended, for the account that asks.',
  answers: {
    200: {
      description: 'The cancelled job. If other accounts wait for it, it continues for them, and is 404 for this one.',
      ...EXTRACTION,
    },
  },
  errors: ['job_not_found', 'job_already_terminal', 'rate_limit_exceeded'],
};

/** Background jobs of links. */
export function extractJobRoutes(services: LinkServices): Route[] {
  const { gateway, polls, mediaProxy } = services;
  const transcripts = new LinkTranscripts(services);

  async function get(context: ParamsContext): Promise<void> {
    const { accountId } = pollingKeyOf(context, polls);
    const isInfo = wantsInfoDict(context.query, {});
    const isLinked = readFlag(context, 'include_media_links');
    const isAudioWanted = readFlag(context, 'include_audio_mp3');
    const wantsWords = readFlag(context, 'include_transcript');
    const job = await gateway.extractionJob(paramOf(context, 'id'), accountId, (fields: JobAnswerFields) => ({
      mediaLinksFor: mediaIssuer(context, mediaProxy, isLinked ?? fields.include_media_links, isInfo),
      includeAudioMp3: isAudioWanted ?? fields.include_audio_mp3,
    }));
    const { include_transcript: isAsked = false, transcript_languages: languages }: JobAnswerFields = job.fields ?? {};
    if (!job.result) return sendJob(context, job);
    if (!isInfo) {
      const terms = { languages, waits: false, signal: clientSignal(context.res) };
      const words = (wantsWords ?? isAsked) ? await transcripts.find(context, job.result, terms) : undefined;
      return sendJob(context, job, words && { notes: words.notes, data: { transcript: words.transcript } });
    }
    context.res.setHeader('Content-Type', INFO_TYPE);
    context.body = encodeInfoDict(job.result);
  }

  return [
    {
      ...LIST,
      handler: (context) => {
        const { accountId } = pollingKeyOf(context, polls);
        return sendJobList(context, {
          states: STATUS,
          read: (limit, filter) => gateway.extractionJobs(accountId, limit, filter),
          show: encodeListedJob,
        });
      },
    },
    { ...GET_JOB, handler: get },
    {
      ...CANCEL_JOB,
      async handler(context) {
        const { accountId } = pollingKeyOf(context, polls);
        sendJob(context, await gateway.cancelExtractionJob(paramOf(context, 'id'), accountId));
      },
    },
  ];
}

export function sendJob(context: RequestContext, job: ExtractionJob, answer?: JobAnswer): void {
  context.res.setHeader('Content-Type', JSON_TYPE);
  if (isOpen(job)) context.res.setHeader('Retry-After', POLL_AFTER_SECONDS);
  context.body = encodeJob(job, answer);
}

/** @throws GatewayError `invalid_value`. */
export function readFlag({ query }: RequestContext, name: string): boolean | undefined {
  const value = query[name];
  if (value === undefined) return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  throw fieldError({ path: name }, { [name]: 'true or false' });
}
