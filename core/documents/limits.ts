/*
 * What reading the documents of one request may take. The reader runs in a thread that is ended after some seconds; this
 * bounds its memory: the bytes that compressed parts unpack to, and the letters of text. A document beyond it is not
 * read: it would have more text than any model reads, or it is a bomb.
 */

/** Bytes that all compressed parts of the documents of a request may unpack to. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;
/** Letters of the text of one document: about two million tokens. */
const MAX_LETTERS = 8 * 1024 * 1024;

/** Why a document is not read. Its message follows the name of a field: "is an encrypted PDF". */
export class UnreadableDocument extends Error {}

export class ReadingLimits {
  #left = MAX_UNPACKED_BYTES;

  /** Bytes that may still be unpacked; at least 1, since zlib takes no less. */
  get left(): number {
    return Math.max(1, this.#left);
  }

  /** @throws UnreadableDocument if it was too much. */
  unpacked(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw tooLarge();
  }
}

export function tooLarge(): UnreadableDocument {
  return new UnreadableDocument('unpacks to more than is read');
}

/** Joins texts as they are found. */
export class TextJoiner {
  #parts: string[] = [];
  #length = 0;

  /** @throws UnreadableDocument if it is too long. */
  add(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_LETTERS) throw tooLarge();
    if (text !== '') this.#parts.push(text);
  }

  /** A space, unless there is one. */
  space(): void {
    if (this.#parts.length > 0 && this.#parts.at(-1) !== ' ') this.add(' ');
  }

  join(): string {
    return this.#parts.join('');
  }
}
