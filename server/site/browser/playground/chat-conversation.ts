/*
 * The conversation of the chat as a tree: each message has the ones that followed it, since an edited message and a
 * repeated answer are versions beside the earlier ones. The chosen versions make the path that is shown and sent. The
 * tree is kept in the browser (IndexedDB) for each account, at most 4 MB: contents of files are left out of a larger one.
 */

/** A file of a message. */
export interface Attachment {
  name: string;
  /** Media type. */
  type: string;
  /** As a data URI. Absent if it was too large to be kept. */
  data?: string;
}

export interface TurnUsage {
  input: number;
  output: number;
  /** Tokens of the output that were thoughts. */
  reasoning?: number;
}

/** A message of the user, or an answer. */
export interface Turn {
  id: number;
  /** Id of the message before it; 0 for the first ones. */
  parent: number;
  role: 'user' | 'assistant';
  text: string;
  files?: readonly Attachment[];
  /** Id of the model that answered. */
  model?: string;
  thoughts?: string;
  isMock?: boolean;
  usage?: TurnUsage;
  /** Until the end of the answer. */
  seconds?: number;
  /** `0.0123 USD`. */
  cost?: string;
  /** How the answer ended, unless the model was done. Of a message: `broken` if it did not arrive. */
  end?: 'stopped' | 'length' | 'broken';
}

/** What is kept. */
interface StoredChat {
  turns: Turn[];
  /** Id of the chosen version, by its parent. */
  chosen: Record<number, number>;
  /** Values of the settings, by their names. */
  settings: Record<string, string>;
}

export class Conversation {
  #turns: Turn[] = [];
  #chosen: Record<number, number> = {};
  settings: Record<string, string> = {};

  /** The messages that are shown, in order. */
  path(): Turn[] {
    const path: Turn[] = [];
    for (let at = this.#chosen[0]; at !== undefined; at = this.#chosen[at]) {
      const turn = this.#turns.find(({ id }) => id === at);
      if (!turn) break;
      path.push(turn);
    }
    return path;
  }

  /** The messages before this one, in order. */
  before(turn: Turn): Turn[] {
    const path: Turn[] = [];
    for (let at = this.find(turn.parent); at; at = this.find(at.parent)) path.unshift(at);
    return path;
  }

  find(id: number): Turn | undefined {
    return this.#turns.find((turn) => turn.id === id);
  }

  /** Adds a message and chooses it. */
  add(turn: Omit<Turn, 'id'>): Turn {
    const made = { ...turn, id: 1 + Math.max(0, ...this.#turns.map(({ id }) => id)) };
    this.#turns.push(made);
    this.#chosen[made.parent] = made.id;
    return made;
  }

  /** Removes a message without an answer; an earlier version is chosen again. */
  remove(turn: Turn): void {
    this.#turns = this.#turns.filter(({ id }) => id !== turn.id);
    const last = this.#turns.findLast(({ parent }) => parent === turn.parent);
    if (last) this.#chosen[turn.parent] = last.id;
    else delete this.#chosen[turn.parent];
  }

  /** The versions of a message, oldest first. */
  versionsOf(turn: Turn): Turn[] {
    return this.#turns.filter(({ parent, role }) => parent === turn.parent && role === turn.role);
  }

  choose(turn: Turn): void {
    this.#chosen[turn.parent] = turn.id;
  }

  clear(): void {
    this.#turns = [];
    this.#chosen = {};
  }

  /** What is kept of it: without the contents of files, if those are too large. */
  toStored(): StoredChat {
    const stored = { turns: this.#turns, chosen: this.#chosen, settings: this.settings };
    if (JSON.stringify(stored).length <= MAX_STORED) return structuredClone(stored);
    const turns = this.#turns.map((turn) =>
      turn.files ? { ...turn, files: turn.files.map(({ name, type }) => ({ name, type })) } : turn,
    );
    return structuredClone({ ...stored, turns });
  }

  restore({ turns, chosen, settings }: StoredChat): void {
    this.#turns = turns;
    this.#chosen = chosen;
    this.settings = settings;
  }
}

/** Characters of its JSON. */
const MAX_STORED = 4_000_000;
const DATABASE = 'mediagate-playground';
const STORE = 'chats';

/** Keeps the conversation of an account. Without IndexedDB, as in some private windows, nothing is kept. */
export class ConversationStore {
  readonly #accountId: string;
  #database: Promise<IDBDatabase> | undefined;

  constructor(accountId: string) {
    this.#accountId = accountId;
  }

  async load(): Promise<StoredChat | undefined> {
    try {
      const found: unknown = await this.#ask('readonly', (store) => store.get(this.#accountId));
      return isStoredChat(found) ? found : undefined;
    } catch {
      return undefined;
    }
  }

  /** Without effect if the browser keeps nothing. */
  async save(stored: StoredChat): Promise<void> {
    await this.#ask('readwrite', (store) => store.put(stored, this.#accountId)).catch(() => undefined);
  }

  async #ask(mode: IDBTransactionMode, begin: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
    this.#database ??= openDatabase();
    const database = await this.#database;
    return result(begin(database.transaction(STORE, mode).objectStore(STORE)));
  }
}

async function openDatabase(): Promise<IDBDatabase> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore(STORE));
  return result(opening);
}

function result<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('the browser keeps nothing')));
  });
}

function isStoredChat(value: unknown): value is StoredChat {
  return typeof value === 'object' && value !== null && 'turns' in value && Array.isArray(value.turns);
}
