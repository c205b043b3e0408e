/** Reads the statements that a client sends PostgreSQL, to act at a chosen COMMIT. */

/** Reads along what a client says to PostgreSQL. */
export interface StatementReader {
  /** Takes the next bytes; where they end with a COMMIT, the statements of its transaction before it. */
  read(chunk: Buffer): string[] | undefined;
}

const LENGTH_BYTES = 4;
const TYPE_BYTES = 1;

/** For one connection, from its first byte on; not encrypted. */
export function createStatementReader(): StatementReader {
  let rest: Buffer = Buffer.alloc(0);
  let started = false;
  /** Those that were given a name, and are used by it later. */
  const prepared = new Map<string, string>();
  let transaction: string[] = [];

  function take(): { type: string; body: Buffer } | undefined {
    // The first message of a connection has no type.
    const head = started ? TYPE_BYTES : 0;
    if (rest.length < head + LENGTH_BYTES) return undefined;
    const end = head + rest.readUInt32BE(head);
    if (rest.length < end) return undefined;
    const type = started ? String.fromCharCode(rest[0] ?? 0) : '';
    const body = rest.subarray(head + LENGTH_BYTES, end);
    rest = rest.subarray(end);
    started = true;
    return { type, body };
  }

  /** The statement that a message has run; undefined where it runs none. */
  function statementOf({ type, body }: { type: string; body: Buffer }): string | undefined {
    const texts = body.toString('latin1').split('\0', 2);
    if (type === 'Q') return texts[0];
    if (type === 'P') prepared.set(texts[0] ?? '', texts[1] ?? '');
    return type === 'B' ? prepared.get(texts[1] ?? '') : undefined;
  }

  return {
    read(chunk) {
      rest = Buffer.concat([rest, chunk]);
      let committing: string[] | undefined;
      for (let message = take(); message; message = take()) {
        const statement = statementOf(message);
        if (statement === undefined) continue;
        const word = /^\s*(\w+)/.exec(statement)?.[1]?.toLowerCase();
        if (word === 'commit') committing = transaction;
        else if (word !== 'begin' && word !== 'start') transaction.push(statement);
        if (word === 'begin' || word === 'start' || word === 'commit' || word === 'rollback') transaction = [];
      }
      return committing;
    },
  };
}
