import type { GatewayError, Logger, Storage } from 'mediagate';
import { createHandOver, toGatewayError } from '../http/index.js';
import type { OutgoingAnswer } from './answer-sending.js';
import { type AnswerHead, type AnswerWork, answerFileOf, type KeptAnswers } from './kept-answers.js';

/** A file goes after the key that leads to it. */
const FILE_LONGER_MS = 3_600_000;
const FILE_TYPE = 'application/octet-stream';

export interface KeepingOptions {
  outgoing: OutgoingAnswer;
  head: AnswerHead;
  work: AnswerWork;
  answers: KeptAnswers;
  files: Storage;
  logger: Logger;
}

export interface Keeping {
  /** What the client is to be sent in the place of the answer. It ends once the answer is kept, or is known not to be. */
  toSend: OutgoingAnswer | Promise<OutgoingAnswer>;
  /** The client has gone; the rest is for the file alone. */
  leave(): void;
  /** Resolves when it is written down how the work has ended; never rejects. */
  ended: Promise<void>;
}

/**
 * Keeps an answer while it is sent. The client paces both for as long as it reads; its last byte goes out when the answer
 * is safe, so that whoever has heard all of it hears the same again. What cannot be kept is sent all the same.
 */
export function keepWhileSending({ outgoing, head, work, answers, files, logger }: KeepingOptions): Keeping {
  const { body, ended: told, ...rest } = outgoing;
  const file = answerFileOf(work);
  const copy = createHandOver();
  const client = createHandOver();
  let bytes = 0;
  const stored = work.room === 0 ? Promise.reject(new NoRoom()) : store();
  const isStored = stored.then(
    () => true,
    (error: unknown) => {
      copy.leave();
      if (!(error instanceof NoRoom)) report(error);
      return false;
    },
  );

  async function store(): Promise<void> {
    const expiresAt = new Date(work.expiresAt + FILE_LONGER_MS);
    await files.write({ name: file, contentType: FILE_TYPE, expiresAt, body: copy.pieces });
  }

  function report(error: unknown): void {
    logger.warn('an answer could not be kept for its Idempotency-Key', { error });
  }

  async function put(piece: Uint8Array): Promise<void> {
    bytes += piece.length;
    const isRoom = bytes <= work.room;
    if (!isRoom) copy.end({ error: new NoRoom() });
    await Promise.all([client.put(piece), isRoom && copy.put(piece)]);
  }

  /** The answer was all there is of it. */
  async function keep(): Promise<void> {
    copy.end();
    const isKept = (await isStored) && (await answers.keep(work, { ...head, bytes }));
    if (isKept) return;
    await answers.release(work);
    await files.delete(file);
  }

  async function giveUp(failure: GatewayError): Promise<void> {
    copy.end({ error: new NoRoom() });
    await isStored;
    await answers.release(work, failure);
  }

  async function pump(pieces: AsyncIterable<Uint8Array> | Uint8Array[]): Promise<void> {
    let broken: { error: unknown } | undefined;
    try {
      for await (const piece of pieces) await put(piece);
    } catch (error) {
      broken = { error };
    }
    const failure = broken ? toGatewayError(broken.error) : (await told)?.failure;
    await (failure ? giveUp(failure) : keep()).catch(report);
    client.end(broken);
  }

  if (body instanceof Uint8Array) {
    // It is not sent in pieces, so that nobody reads them.
    client.leave();
    const ended = pump([body]);
    return { toSend: ended.then(() => outgoing), leave: client.leave, ended };
  }
  const toSend = { ...rest, body: client.pieces, ...(told && { ended: told }) };
  return { toSend, leave: client.leave, ended: pump(body) };
}

/** Ends the writing of a file that is not wanted. */
class NoRoom extends Error {}
