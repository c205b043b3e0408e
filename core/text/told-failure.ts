import { isText, readValue, walkMembers } from './json-walk.js';

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;

export interface Wording {
  /** Public model id as JSON text. */
  modelText: Buffer;
  /** Makes an upstream's words such as a caller may read. */
  plainWords(words: string): string;
}

/**
 * What tells of a failure, as a caller may read it: an upstream's words about it name its model, its address, its keys.
 * What says nothing of the kind stays byte for byte as it is.
 * @param bytes JSON object: of an event, or a whole answer.
 * @throws SyntaxError where there is no whole object.
 */
export function rewordFailure(bytes: Buffer, { modelText, plainWords }: Wording): Buffer {
  const pieces: Buffer[] = [];
  let done = 0;

  function replace(start: number, end: number, text: Buffer): void {
    pieces.push(bytes.subarray(done, start), text);
    done = end;
  }

  function look(from: number): void {
    walkMembers(bytes, from, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const named = (name: string) => isText(bytes, nameStart, nameEnd, name);
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (named('model')) replace(valueStart, valueEnd, modelText);
        else if (named('message') || named('error')) {
          const words = String(readValue(bytes, valueStart, valueEnd));
          const plain = plainWords(words);
          if (plain !== words) replace(valueStart, valueEnd, Buffer.from(JSON.stringify(plain)));
        }
      } else if (first === OPEN_BRACE && (named('error') || named('response'))) look(valueStart);
    });
  }

  look(0);
  if (pieces.length === 0) return bytes;
  pieces.push(bytes.subarray(done));
  return Buffer.concat(pieces);
}
