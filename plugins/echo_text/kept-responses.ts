import { GatewayError } from 'mediagate';

/** A response that can be asked for. */
export interface KeptResponse {
  id: string;
  /** JSON of it. */
  response: string;
  /** JSON of the list of what it answered. */
  input: string;
  /** Said in it and before it. */
  tokens: number;
}

/** Responses of this process, the newest ones. */
export interface KeptResponses {
  add(response: KeptResponse): void;
  find(id: string): KeptResponse | undefined;
  /** @throws GatewayError `response_not_found` */
  get(id: string): KeptResponse;
  delete(id: string): void;
}

/** UTF-16 code units of all that is kept. */
const MOST_TEXT = 4 * 1024 * 1024;

export function createKeptResponses(): KeptResponses {
  const all = new Map<string, KeptResponse>();
  let length = 0;
  const lengthOf = ({ response, input }: KeptResponse) => response.length + input.length;

  function remove(kept: KeptResponse): void {
    if (all.delete(kept.id)) length -= lengthOf(kept);
  }

  return {
    add(kept) {
      all.set(kept.id, kept);
      length += lengthOf(kept);
      for (const oldest of all.values()) {
        if (length <= MOST_TEXT) break;
        remove(oldest);
      }
    },
    find: (id) => all.get(id),
    get(id) {
      const kept = all.get(id);
      if (kept) return kept;
      throw new GatewayError(
        'response_not_found',
        'There is no such response; an echo forgets, at the latest when it ends.',
      );
    },
    delete(id) {
      const kept = all.get(id);
      if (kept) remove(kept);
    },
  };
}
