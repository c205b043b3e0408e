import { asString, type JsonRecord } from 'mediagate';
import type { RelayBlock } from './relay-blocks.js';

/**
 * Everything that bears an id, by that id. One thing is spread over many places of a page, each with some of its members;
 * by its id they come together, and what belongs to something else stays apart, wherever it stands.
 */
export interface RelayStore {
  add(blocks: readonly RelayBlock[]): void;
  of(id: string | undefined): readonly JsonRecord[];
  /** What whole results consist of; some bear no id of their own. */
  readonly roots: readonly JsonRecord[];
  /** Records that are stories: posts, whatever they hold. */
  readonly stories: readonly JsonRecord[];
}

const MAX_RECORDS = 400_000;

export function createRelayStore(): RelayStore {
  const byId = new Map<string, JsonRecord[]>();
  const roots: JsonRecord[] = [];
  const stories: JsonRecord[] = [];
  let seen = 0;

  function index(value: object): void {
    if (seen >= MAX_RECORDS) return;
    seen += 1;
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object' && item !== null) index(item);
      return;
    }
    const record = value as JsonRecord;
    const id = asString(record.id);
    if (id !== undefined) {
      const known = byId.get(id);
      if (known) known.push(record);
      else byId.set(id, [record]);
    }
    if (isStory(record)) stories.push(record);
    for (const key in record) {
      const member = record[key];
      if (typeof member === 'object' && member !== null) index(member);
    }
  }

  return {
    roots,
    stories,
    of: (id) => (id === undefined ? [] : (byId.get(id) ?? [])),
    add(blocks) {
      for (const { data } of blocks) {
        roots.push(data);
        index(data);
      }
    },
  };
}

function isStory(record: JsonRecord): boolean {
  return (
    record.__typename === 'Story' ||
    record.post_id !== undefined ||
    record.short_form_video_context !== undefined ||
    record.comet_sections !== undefined ||
    record.wwwURL !== undefined
  );
}
