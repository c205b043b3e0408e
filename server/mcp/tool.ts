/*
 * What a tool is: its name and schemas, who may use it, and how it calls its routes. A tool that takes long has a job:
 * it begins the durable job of its route, reads its state, and cancels it. A client that knows tasks gets the id of the
 * job; for any other the call waits for the end of the job and reports progress.
 */

import type { Gateway } from 'mediagate';
import { type TObject, type TSchema, Type } from '../../core/contracts/index.js';
import type { CallRoute, Grant, Route } from '../http/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import type { ToolResult } from './results.js';

export type ToolInput = Readonly<Record<string, unknown>>;

/** One call of a tool. */
export interface ToolCall {
  input: ToolInput;
  key: ApiKeyRecord;
  callRoute: CallRoute;
  /** Aborts when the client has disconnected or cancels. */
  signal: AbortSignal;
}

/** The state of a job, as its route answers it. */
export interface JobState {
  /** Id of the task: that of the job, for link data with the fields that were asked for. */
  id: string;
  state: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
  createdAt: string;
  updatedAt: string;
  /** When the job is deleted. Default: it is not known. */
  expiresAt?: string | undefined;
  pollSeconds: number;
  /** Parts that have ended, and all. Default: it is not known. */
  progress?: { done: number; total: number };
  /** The words for a person. Default: those of the state. */
  message?: string;
  /** The answer of the route. */
  // biome-ignore lint/suspicious/noExplicitAny: the answers of all routes of jobs
  answer: any;
}

/** The durable jobs of a tool. */
export interface ToolJobs {
  /** Whether the id is one of these jobs. */
  owns(taskId: string): boolean;
  /**
   * Begins a job; a result in its place if there is nothing to wait for.
   * @param isTask Whether the client asked for a task and expects a job.
   */
  begin(call: ToolCall, isTask: boolean): Promise<JobState | ToolResult>;
  read(call: Omit<ToolCall, 'input'>, taskId: string, waitSeconds: number): Promise<JobState>;
  cancel(call: Omit<ToolCall, 'input'>, taskId: string): Promise<void>;
  /** The result of a job that has completed. */
  resultOf(call: Omit<ToolCall, 'input'>, job: JobState): Promise<ToolResult>;
  /** Whether a call of a client that knows tasks is worth a job. Default: always. */
  isLong?(input: ToolInput): boolean;
  /** Whether a call of any client needs a job. Default: if the tool has no `run`. */
  isNeeded?(input: ToolInput): boolean;
}

export interface Tool {
  name: string;
  /** For people. */
  title: string;
  /** For models: what the tool does and what it costs. */
  description: string;
  /** One of several is enough. */
  grant: Grant | readonly Grant[] | 'any';
  /** A grant that is needed besides. Default: none. */
  alsoNeeds?: Grant;
  input: TObject;
  /** Default: the result is not described. */
  output?: TSchema;
  /** Whether it only reads, and whether the same call has the same effect. */
  hints: { readOnlyHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  /** Calls the route and waits for its answer. Default: the tool works by jobs alone. */
  run?(call: ToolCall): Promise<ToolResult>;
  /** Default: the tool answers at once. */
  jobs?: ToolJobs;
}

/** What tools are made from. */
export interface ToolSources {
  gateway: Gateway;
  /** Every route, as it is declared. */
  routes: readonly Route[];
}

/** A route that a tool calls. @throws Error if it is not declared. */
export function routeOf(routes: readonly Route[], method: Route['method'], path: string): Route {
  const found = routes.find((route) => route.method === method && route.path === path);
  if (!found) throw new Error(`a tool calls ${method} ${path}, which is not declared`);
  return found;
}

/** Fields of the body of a route. */
export function bodyFields(route: Route): Record<string, TSchema> {
  return { ...(route.body?.schema as TObject | undefined)?.properties };
}

/** The schema of the answer of a route. */
export function answerSchema(route: Route, status = 200): TSchema {
  const schema = route.answers[status]?.schema;
  if (!schema) throw new Error(`${route.method} ${route.path} declares no answer ${status}`);
  return schema;
}

type AnySchema = TSchema & {
  description?: string;
  properties?: Record<string, TSchema>;
  items?: TSchema;
  anyOf?: TSchema[];
};

/**
 * A schema without what is deeper than so many objects, and without any field required: a list of tools is read by
 * models, which pay for its length, and results have no fields that are null.
 */
export function outline(schema: TSchema, depth: number): TSchema {
  const { description, properties, items, anyOf } = schema as AnySchema;
  const about = description === undefined ? {} : { description };
  if (anyOf) {
    const [only, ...others] = anyOf.filter((one) => (one as { type?: string }).type !== 'null');
    if (!only || others.length > 0) return Type.Unsafe({ ...about });
    return Type.Unsafe({ ...(outline(only, depth) as object), ...about });
  }
  if (items) return Type.Unsafe({ type: 'array', ...about, items: outline(items, depth) });
  if (!properties) return schema;
  if (depth === 0) return Type.Unsafe({ type: 'object', ...about });
  const inner = Object.entries(properties).map(([name, one]) => [name, outline(one, depth - 1)] as const);
  return Type.Unsafe({ type: 'object', ...about, properties: Object.fromEntries(inner) });
}

/** Whether the key may use the tool: the same grants as its route. */
export function isGranted(
  { grant, alsoNeeds }: Pick<Tool, 'grant' | 'alsoNeeds'>,
  { grants, rpm }: ApiKeyRecord,
): boolean {
  if (grant === 'any') return true;
  if (rpm === 0 || (alsoNeeds !== undefined && !grants.includes(alsoNeeds))) return false;
  return typeof grant === 'string' ? grants.includes(grant) : grant.some((one) => grants.includes(one));
}
