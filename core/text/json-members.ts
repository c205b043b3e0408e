import { isText, walkMembers } from './json-walk.js';

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue | undefined };

/**
 * Changes top-level members of a JSON object in its bytes: a member that is there gets its new value where it stands, each
 * time where it stands more than once; one that is not there is added at the end; undefined takes a member away. Every other
 * byte stays as it is: the order of members, white space, integers beyond 2^53, members nobody knows.
 * @param body Valid JSON in UTF-8 without a byte order mark, an object.
 * @param changes Names in ASCII.
 * @returns New bytes; `body` itself where there is nothing to change.
 * @throws SyntaxError where the bytes are no object.
 */
export function replaceMembers(body: Uint8Array, changes: Readonly<Record<string, JsonValue | undefined>>): Uint8Array {
  const names = Object.keys(changes);
  if (names.length === 0) return body;
  const missing = new Set(names);
  const pieces: Uint8Array[] = [];
  /** Behind what was copied or cut so far. */
  let done = 0;
  /** Behind the member before. */
  let previousEnd = 0;
  /** Whether the members so far are cut with the comma behind them, since none stays that one could stand before. */
  let first = true;
  let pendingCut = false;

  const end = walkMembers(body, 0, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
    if (pendingCut) done = nameStart;
    pendingCut = false;
    const name = names.find((candidate) => isText(body, nameStart, nameEnd, candidate));
    const value = name === undefined ? undefined : changes[name];
    if (name === undefined) first = false;
    else {
      missing.delete(name);
      if (value !== undefined) {
        pieces.push(body.subarray(done, valueStart), Buffer.from(JSON.stringify(value)));
        done = valueEnd;
        first = false;
      } else if (first) {
        pieces.push(body.subarray(done, nameStart));
        done = valueEnd;
        pendingCut = true;
      } else {
        pieces.push(body.subarray(done, previousEnd));
        done = valueEnd;
      }
    }
    previousEnd = valueEnd;
  });

  const added = [...missing].filter((name) => changes[name] !== undefined);
  if (done === 0 && added.length === 0) return body;
  const text = added.map((name) => `${JSON.stringify(name)}:${JSON.stringify(changes[name])}`).join(',');
  pieces.push(body.subarray(done, end));
  if (text !== '') pieces.push(Buffer.from(first ? text : `,${text}`));
  pieces.push(body.subarray(end));
  return Buffer.concat(pieces);
}
