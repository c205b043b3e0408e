/*
 * The tools `get_link_data` and `get_link_data_batch`. The fields that the caller names decide what is in the result, and
 * whether speech recognition is asked for. As a task, one link is a background job of `/v1/extract` and a list a
 * background batch. The id of such a task is the id of the job, a dot, and a letter for each field, so that any
 * node can make the result without a memory of the call.
 */

import { field, optional, type TObject, type TSchema, Type } from '../../core/contracts/index.js';
import type { CallRoute } from '../http/index.js';
import { OneOf } from '../http/index.js';
import { LINK_ROUTE, type LinkAnswer, MAX_BATCH_URLS } from '../links/index.js';
import {
  type Answer,
  batchResult,
  documentResult,
  NAMES,
  PARTS,
  type PartName,
  partsOf,
  sourceResult,
} from './link-parts.js';
import { outsideSchema } from './results.js';
import {
  answerSchema,
  bodyFields,
  type JobState,
  outline,
  routeOf,
  type Tool,
  type ToolInput,
  type ToolJobs,
  type ToolSources,
} from './tool.js';

export const EXTRACT = '/v1/extract';
const BATCH = '/v1/extract/batch';
const BATCHES = '/v1/extract/batches';

/** Fields of the route that the tool sets by itself, or that only programs use. */
const OWN_FIELDS = [
  'url',
  'urls',
  'include_transcript',
  'include_audio_mp3',
  'async_mode',
  'background',
  'force_async',
];
const NOT_OFFERED = new Set([...OWN_FIELDS, 'webhook_url']);

const FIELDS = optional(
  Type.Array(OneOf(...NAMES), { minItems: 1, uniqueItems: true }),
  'Parts of the answer; fewer keep it small. `common`: title, author, text, dates. `metrics`: views, likes. `media`: addresses of files. `reviews`: shop links. `transcript`: what is said; may take a minute and use an audio model. Default: common and metrics.',
);

const HINTS = { readOnlyHint: true, idempotentHint: true, openWorldHint: true };

export function linkTools({ routes }: ToolSources): Tool[] {
  const extract = routeOf(routes, 'POST', EXTRACT);
  const batch = routeOf(routes, 'POST', BATCH);
  const document = documentSchema(answerSchema(extract));
  const offered = (fields: Record<string, TSchema>) =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => !NOT_OFFERED.has(name)));
  const { url, ...options } = bodyFields(extract);
  const { urls, ...batchOptions } = bodyFields(batch);
  return [
    {
      name: 'get_link_data',
      title: 'Get the data of a link',
      description:
        'Returns structured data of a public link to a video, post, or product: title, author, numbers, files, reviews, and with the field `transcript` the words that are spoken. One request of the rate limit for link data.',
      grant: LINK_ROUTE.grant,
      input: closed({ url: url as TSchema, fields: FIELDS, ...offered(options) }),
      output: outsideSchema(document),
      hints: HINTS,
      async run({ input, callRoute, signal }) {
        const call = { method: 'POST', path: EXTRACT, body: bodyOf(input), takesSource: true } as const;
        const { json, source } = await callRoute(call, signal);
        return source ? sourceResult(source as LinkAnswer, partsOf(input)) : documentResult(json, partsOf(input));
      },
      jobs: linkJobs(),
    },
    {
      name: 'get_link_data_batch',
      title: 'Get the data of several links',
      description: `Returns structured data of up to ${MAX_BATCH_URLS} public links. Each link has its own result or error, and counts as a request of the rate limit for link data.`,
      grant: LINK_ROUTE.grant,
      input: closed({ urls: urls as TSchema, fields: FIELDS, ...offered(batchOptions) }),
      output: outsideSchema({ items: Type.Array(Type.Object(itemSchema())) }),
      hints: HINTS,
      async run({ input, callRoute, signal }) {
        const { json } = await callRoute({ method: 'POST', path: BATCH, body: batchBodyOf(input) }, signal);
        return batchResult(json.items, partsOf(input));
      },
      jobs: batchJobs(),
    },
  ];
}

/** An object without other fields, so that a misspelt one is refused. */
export function closed(fields: Record<string, TSchema>): TObject {
  return Type.Object(fields, { additionalProperties: false });
}

/** The document of any kind with all of its parts optional, as the caller chooses them. */
function documentSchema(answer: TSchema): Record<string, TSchema> {
  const { platform, input_url, extraction_method, limitations, data } = (answer as TObject).properties;
  const kinds = (data as TSchema & { anyOf: TObject[] }).anyOf;
  const named = new Set<string>(Object.values(PARTS).flat());
  const parts: Record<string, TSchema> = {};
  for (const { properties } of kinds.toReversed()) {
    for (const [name, schema] of Object.entries(properties))
      if (named.has(name)) parts[name] = Type.Optional(outline(schema, 1));
  }
  return {
    platform: platform as TSchema,
    input_url: input_url as TSchema,
    extraction_method: extraction_method as TSchema,
    data: field(Type.Object(parts), 'The parts of the document that were asked for. Unknown fields are absent.'),
    limitations: limitations as TSchema,
  };
}

function itemSchema(): Record<string, TSchema> {
  return {
    url: field(Type.String(), 'The link as sent.'),
    ok: field(Type.Boolean(), 'False if the link failed.'),
    error: optional(Type.Object({ code: Type.String(), message: Type.String() }), 'Why it failed. Absent otherwise.'),
    platform: optional(Type.String(), 'Platform key.'),
    data: optional(Type.Object({}), 'As in `get_link_data`.'),
    limitations: optional(Type.Array(Type.String()), 'Notes on missing, inexact or ignored parts.'),
  };
}

function bodyOf({ fields: _, ...sent }: ToolInput, parts = partsOf({ fields: _ })): Record<string, unknown> {
  return {
    include_audio_mp3: parts.includes('media'),
    ...(parts.includes('transcript') && { include_transcript: true }),
    ...sent,
  };
}

/** A batch that is answered at once has no transcripts. */
function batchBodyOf(input: ToolInput): Record<string, unknown> {
  const { include_transcript: _, transcript_languages: __, ...body } = bodyOf(input);
  return body;
}

const LETTERS: Readonly<Record<PartName, string>> = {
  common: 'c',
  metrics: 'n',
  media: 'm',
  reviews: 'r',
  transcript: 't',
};

function taskIdOf(jobId: string, parts: readonly PartName[]): string {
  return `${jobId}.${parts.map((part) => LETTERS[part]).join('')}`;
}

/** The job and the parts of a task id; undefined if it is none. */
function readTaskId(taskId: string, prefix: string): { jobId: string; parts: PartName[] } | undefined {
  const [, jobId = '', letters = ''] = /^(\w+)\.([cnmrt]{1,5})$/.exec(taskId) ?? [];
  if (!jobId.startsWith(prefix)) return undefined;
  return { jobId, parts: NAMES.filter((name) => letters.includes(LETTERS[name])) };
}

function jobOf(taskId: string, prefix: string): { jobId: string; parts: PartName[] } {
  const read = readTaskId(taskId, prefix);
  if (!read) throw new Error('not a task of this tool');
  return read;
}

const STATES: Readonly<Record<string, JobState['state']>> = {
  queued: 'queued',
  processing: 'running',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** One link as a background job. */
function linkJobs(): ToolJobs {
  const prefix = 'exjob_';
  const stateOf = (answer: Answer, parts: readonly PartName[]): JobState => {
    const { job } = answer.data;
    const isPending = answer.limitations.some((note: string) => note.startsWith('transcript_pending'));
    const isWaiting = job.status === 'completed' && parts.includes('transcript') && isPending;
    return {
      id: taskIdOf(job.job_id, parts),
      state: isWaiting ? 'running' : (STATES[job.status] ?? 'running'),
      ...(isWaiting && { message: 'Recognising the speech' }),
      createdAt: job.created_at,
      updatedAt: job.finished_at ?? job.started_at ?? job.created_at,
      pollSeconds: Math.max(3, job.poll_after_seconds),
      answer,
    };
  };
  return {
    owns: (taskId) => readTaskId(taskId, prefix) !== undefined,
    isLong: (input) => partsOf(input).some((part) => part === 'reviews' || part === 'transcript'),
    async begin({ input, callRoute, signal }, isTask) {
      const parts = partsOf(input);
      // A document of the cache has no job, and only a job waits for the end of speech recognition.
      const isForced = isTask || parts.includes('transcript');
      const body = { ...bodyOf(input), background: true, ...(isForced && { force_async: true }) };
      const { json } = await callRoute({ method: 'POST', path: EXTRACT, body }, signal);
      return json.data.job ? stateOf(json, parts) : documentResult(json, parts);
    },
    async read({ callRoute, signal }, taskId) {
      const { jobId, parts } = jobOf(taskId, prefix);
      const asked = `include_transcript=${parts.includes('transcript')}&include_audio_mp3=${parts.includes('media')}`;
      const { json } = await callRoute({ method: 'GET', path: `${EXTRACT}/jobs/${jobId}?${asked}` }, signal);
      return stateOf(json, parts);
    },
    async cancel({ callRoute, signal }, taskId) {
      await callRoute({ method: 'DELETE', path: `${EXTRACT}/jobs/${jobOf(taskId, prefix).jobId}` }, signal);
    },
    async resultOf(_call, { id, answer }) {
      return documentResult(answer, jobOf(id, prefix).parts);
    },
  };
}

/** Several links as a background batch. */
function batchJobs(): ToolJobs {
  const prefix = 'exbatch_';
  const stateOf = (batch: Answer, parts: readonly PartName[]): JobState => ({
    id: taskIdOf(batch.id, parts),
    state: STATES[batch.status] ?? 'running',
    createdAt: batch.created_at,
    updatedAt: batch.finished_at ?? batch.started_at ?? batch.created_at,
    expiresAt: batch.expires_at ?? undefined,
    pollSeconds: Math.max(5, batch.poll_after_seconds),
    progress: { done: batch.progress.completed + batch.progress.failed, total: batch.progress.total },
    answer: batch,
  });
  return {
    owns: (taskId) => readTaskId(taskId, prefix) !== undefined,
    // A batch that is answered at once has no transcripts.
    isNeeded: (input) => partsOf(input).includes('transcript'),
    async begin({ input, callRoute, signal }) {
      const parts = partsOf(input);
      const { json } = await callRoute({ method: 'POST', path: BATCHES, body: bodyOf(input) }, signal);
      return stateOf(json, parts);
    },
    async read({ callRoute, signal }, taskId) {
      const { jobId, parts } = jobOf(taskId, prefix);
      const { json } = await callRoute({ method: 'GET', path: `${BATCHES}/${jobId}` }, signal);
      return stateOf(json, parts);
    },
    async cancel({ callRoute, signal }, taskId) {
      await callRoute({ method: 'DELETE', path: `${BATCHES}/${jobOf(taskId, prefix).jobId}` }, signal);
    },
    async resultOf({ callRoute, signal }, { id }) {
      const { jobId, parts } = jobOf(id, prefix);
      return batchResult(await readResults(callRoute, signal, jobId), parts);
    },
  };
}

async function readResults(callRoute: CallRoute, signal: AbortSignal, jobId: string): Promise<Answer[]> {
  const path = `${BATCHES}/${jobId}/results?limit=${MAX_BATCH_URLS}`;
  const { bytes } = await callRoute({ method: 'GET', path }, signal);
  return bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
