/** Stored responses of the local text upstream. */

import type { OpenaiError } from './openai-error.js';
import { inputOf, type ModelAnswer } from './text-answer.js';
import type { StreamEvent } from './text-chat-format.js';
import { responseId, responseObject, responsesEvents, responsesUsage } from './text-responses-format.js';
import type { TextUpstreamRequest } from './text-upstream-request.js';

/** Responses that were made and can be asked for. */
export interface StoredResponses {
  keep(answer: ModelAnswer, members: TextUpstreamRequest['members'], status: string): void;
  has(id: string): boolean;
  readonly size: number;
  /** The answer to `GET`, `DELETE` and `POST …/cancel`; undefined where the path is none of theirs. */
  answer(request: TextUpstreamRequest): object | OpenaiError | undefined;
  /** Those behind `starting_after`, where a stream of a stored response is asked for. */
  events(request: TextUpstreamRequest): readonly StreamEvent[] | undefined;
  /** All that are still in progress have come to that end. */
  end(status: string): void;
  clear(): void;
}

interface Stored {
  answer: ModelAnswer;
  members: TextUpstreamRequest['members'];
  status: string;
}

const PATH = /^\/v1\/responses\/([^/?]+)(\/cancel|\/input_items)?(?:\?|$)/;

export function createStoredResponses(): StoredResponses {
  const all = new Map<string, Stored>();
  const notFound = (id: string): OpenaiError => ({
    status: 404,
    message: `Response with id '${id}' not found.`,
  });

  return {
    keep(answer, members, status) {
      if (members.store !== false) all.set(responseId(answer), { answer, members, status });
    },
    has: (id) => all.has(id),
    get size() {
      return all.size;
    },
    answer({ method, path }) {
      const [, id = '', action] = PATH.exec(path) ?? [];
      if (id === '') return undefined;
      const stored = all.get(id);
      if (!stored) return notFound(id);
      if (action === '/input_items') return inputItems(stored);
      if (action === '/cancel') {
        if (stored.members.background !== true) {
          return { status: 400, message: 'Only responses with background=true can be cancelled.' };
        }
        stored.status = 'cancelled';
      } else if (method === 'DELETE') {
        all.delete(id);
        return { id, object: 'response', deleted: true };
      }
      return responseObject(stored.answer, stored.members, stored.status);
    },
    events({ method, path }) {
      const query = new URL(path, 'http://upstream').searchParams;
      const stored = all.get(PATH.exec(path)?.[1] ?? '');
      if (!stored || method !== 'GET' || query.get('stream') !== 'true') return undefined;
      const events = responsesEvents(stored.answer, stored.members, {
        end: 'regular',
        withUsage: true,
        obfuscation: false,
      });
      return events.slice(Number(query.get('starting_after') ?? -1) + 1);
    },
    end(status) {
      for (const stored of all.values()) if (stored.status === 'in_progress') stored.status = status;
    },
    clear: () => all.clear(),
  };
}

/** The answer to `POST /v1/responses/compact` and `/input_tokens`. */
export function taskAnswer(task: 'compact' | 'input_tokens', answer: ModelAnswer, members: Stored['members']): object {
  if (task === 'input_tokens') return { object: 'response.input_tokens', input_tokens: answer.usage.input };
  const kept = inputOf(members).filter((item) => (item as { role?: string }).role === 'user');
  const summary = { id: `cmp_${answer.created}`, type: 'compaction', encrypted_content: 'gAAAA-all-of-it' };
  return {
    id: responseId(answer),
    object: 'response.compaction',
    created_at: answer.created,
    output: [...kept, summary],
    usage: responsesUsage(answer),
  };
}

function inputItems({ answer, members }: Stored): object {
  const data = inputOf(members).map((item, index) => {
    const { content, ...rest } = item as { content?: unknown };
    const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
    return { id: `msg_in_${answer.created}_${index}`, type: 'message', status: 'completed', ...rest, content: parts };
  });
  return { object: 'list', data, first_id: data[0]?.id, last_id: data.at(-1)?.id, has_more: false };
}
