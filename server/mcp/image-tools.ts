/*
 * The tools `generate_image` and `edit_image`: image jobs. The result links the file, which is public by its name until it
 * expires, and contains the image itself up to 1.5 MiB. With an `idempotency_key`, a repeated call returns the image of
 * the first one.
 */

import type { Gateway } from 'mediagate';
import { optional, type ReadyModel, type TSchema, Type } from '../../core/contracts/index.js';
import { RouteFailure } from '../http/index.js';
import { IMAGE_ROUTE } from '../images/index.js';
import { chooseModel } from '../models/index.js';
import { closed } from './link-tools.js';
import { CAP_FIELDS, type Content, ownResult } from './results.js';
import {
  answerSchema,
  bodyFields,
  type JobState,
  outline,
  routeOf,
  type Tool,
  type ToolJobs,
  type ToolSources,
} from './tool.js';

const JOBS = '/v1/images/jobs';
/** Larger images are a link alone. */
const MAX_INLINE_BYTES = 1.5 * 1024 * 1024;
const OFFERED = ['size', 'quality', 'background', 'output_format', 'output_compression'] as const;
const EDITING = ['mask', 'input_fidelity'] as const;

/** The field of tools whose route knows `Idempotency-Key`. */
export const IDEMPOTENCY_FIELD = optional(
  Type.String({ pattern: '^[!-~]{1,255}$' }),
  'A text of your choice without spaces, unique for each request: a repeated call with the same text returns the first result and costs nothing.',
);

/** The field of a model that the tool chooses by itself otherwise. */
export function modelField(kind: string): TSchema {
  return optional(Type.String(), `Id of ${kind}; list_models lists them. Default: the first that the key may use.`);
}

/** @returns The headers of the route. */
export function idempotencyHeader(key: unknown): Record<string, string> {
  return typeof key === 'string' ? { 'idempotency-key': key } : {};
}

export function imageTools({ gateway, routes }: ToolSources): Tool[] {
  const submit = routeOf(routes, 'POST', JOBS);
  const fields = bodyFields(submit);
  const { prompt, image_url: images } = fields;
  const named = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap((name) => (fields[name] ? [[name, fields[name]] as const] : [])));
  const common = { model: modelField('an image model'), ...named(OFFERED), idempotency_key: IDEMPOTENCY_FIELD };
  const tool = {
    grant: IMAGE_ROUTE.grant,
    output: outputSchema(answerSchema(routeOf(routes, 'GET', `${JOBS}/:id`))),
    hints: { readOnlyHint: false, idempotentHint: false, openWorldHint: false },
    jobs: imageJobs(gateway),
  };
  return [
    {
      ...tool,
      name: 'generate_image',
      title: 'Generate an image',
      description:
        'Makes one image from a description, and returns its link. Takes seconds to minutes, and costs an image.',
      input: closed({ prompt: required(prompt), ...common }),
    },
    {
      ...tool,
      name: 'edit_image',
      title: 'Edit an image',
      description:
        'Makes one image from up to 4 images and a description of the change, and returns its link. Takes seconds to minutes, and costs an image.',
      input: closed({ prompt: required(prompt), image_url: required(images), ...common, ...named(EDITING) }),
    },
  ];
}

/** A field of a body that the route does not require. */
function required(schema: TSchema | undefined): TSchema {
  if (!schema) throw new Error('the route of images lost a field');
  return Type.Unsafe({ ...schema });
}

function outputSchema(job: TSchema): TSchema {
  const { properties } = job as TSchema & { properties: Record<string, TSchema> };
  const { id, data, expires_at, run_seconds } = properties;
  return outline(Type.Object({ id, data, expires_at, run_seconds, ...CAP_FIELDS } as Record<string, TSchema>), 2);
}

const STATES: Readonly<Record<string, JobState['state']>> = {
  queued: 'queued',
  generating: 'running',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

// biome-ignore lint/suspicious/noExplicitAny: the answer of the route
type ImageAnswer = any;

function stateOf(answer: ImageAnswer): JobState {
  const { queue_position: position } = answer;
  const now = new Date().toISOString();
  const createdAt = answer.created_at ?? now;
  return {
    id: answer.id,
    state: STATES[answer.status] ?? 'running',
    createdAt,
    updatedAt: answer.finished_at ?? answer.started_at ?? createdAt,
    expiresAt: answer.expires_at ?? undefined,
    pollSeconds: Math.max(5, answer.poll_after_seconds),
    ...(position !== undefined && { message: `Position ${position} in the queue` }),
    answer,
  };
}

function imageJobs(gateway: Gateway): ToolJobs {
  return {
    owns: (taskId) => /^imgjob_\w+$/.test(taskId),
    async begin({ input, key, callRoute, signal }) {
      const { idempotency_key: idempotencyKey, model: named, ...body } = input;
      const isEdit = body.image_url !== undefined;
      const isSuitable = ({ kind, takesImages }: ReadyModel) => kind === 'image' && (!isEdit || takesImages === true);
      const model = typeof named === 'string' ? named : chooseModel(gateway, key, isSuitable);
      const headers = idempotencyHeader(idempotencyKey);
      const { json } = await callRoute({ method: 'POST', path: JOBS, body: { ...body, model }, headers }, signal);
      return stateOf(json);
    },
    async read({ callRoute, signal }, taskId, waitSeconds) {
      const { json } = await callRoute({ method: 'GET', path: `${JOBS}/${taskId}?wait=${waitSeconds}` }, signal);
      return stateOf(json);
    },
    async cancel({ callRoute, signal }, taskId) {
      await callRoute({ method: 'DELETE', path: `${JOBS}/${taskId}` }, signal);
    },
    async resultOf({ callRoute, signal }, { answer }) {
      const { id, data, expires_at, run_seconds } = answer;
      const [image] = data;
      const content: Content[] = [linkOf(image, expires_at)];
      if (image.bytes <= MAX_INLINE_BYTES) {
        const bytes = await fileOf(image.filename);
        if (bytes) content.unshift({ type: 'image', data: bytes.toString('base64'), mimeType: image.content_type });
      }
      return ownResult({ id, data, expires_at, run_seconds }, content);

      async function fileOf(name: string): Promise<Buffer | undefined> {
        try {
          return (await callRoute({ method: 'GET', path: `/v1/images/files/${name}` }, signal)).bytes;
        } catch (error) {
          // Expired, while the link in the result says when.
          if (error instanceof RouteFailure) return undefined;
          throw error;
        }
      }
    },
  };
}

function linkOf(image: ImageAnswer, expiresAt: string | null): Content {
  const until = expiresAt === null ? '' : `; the link works until ${expiresAt}`;
  return {
    type: 'resource_link',
    uri: image.url,
    name: image.filename,
    mimeType: image.content_type,
    size: image.bytes,
    description: `${image.width} x ${image.height} pixels${until}`,
  };
}
