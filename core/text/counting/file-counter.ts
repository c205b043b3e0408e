/*
 * Counts the tokens of the files in the body of a request by what they contain: a compressed file of 3 kB may hold
 * 180,000 words. A thread reads one body after the other, within limits of time, memory and unpacked bytes. A file that
 * cannot be read is refused, since its tokens are not known.
 *
 * Of a PDF, vendors give a model the text and an image of each page. Anthropic documents 1,500 to 3,000 tokens of text
 * for a page of usual density, and for its image what any image of that size has
 * (https://platform.claude.com/docs/en/build-with-claude/pdf-support), which is about 1,600; OpenAI gives both as well
 * (https://developers.openai.com/api/docs/guides/pdf-files). So a page counts at least 3,000, and more if its text is
 * longer than usual. Of other documents models get the text
 * (https://developers.openai.com/api/docs/guides/file-inputs).
 */

import { GatewayError, isGatewayError, WorkerQueue } from '../../runtime/index.js';
import { IMAGE_TOKENS, type TextSample } from './samples.js';

/** The least of a page, which may also be a picture of a text. */
const PAGE_TOKENS = 3_000;
/** The image of a page. */
const PAGE_IMAGE_TOKENS = 1_600;
/** Of audio: Gemini documents 32 for a second, and OpenAI has 10. */
const AUDIO_TOKENS_PER_SECOND = 32;
const TIMEOUT_MS = 10_000;
const IDLE_MS = 30_000;
/** Megabytes of the thread's heap: a body, its files and their texts. */
const HEAP_MB = 512;
/** Maximum number of bodies in the queue, and of those of one owner. */
const MAX_WAITING = 64;
const MAX_OF_OWNER = 16;

export interface FileTask {
  body: Uint8Array;
}

/** A file that was read. */
export interface ReadFile {
  /** A sample of its text. */
  sample: TextSample;
  pages: number;
  images: number;
  seconds: number;
}

/** What the thread says: which file it reads now; at the end all of them, or why one is not read. */
export type FileAnswer =
  | { reading: string }
  | { files: ReadFile[] }
  | { unread: { path: string; why: string; accepted: string } };

const thread = new WorkerQueue<FileTask, FileAnswer>({
  module: new URL('./file-thread.js', import.meta.url),
  heapMb: HEAP_MB,
  timeoutMs: TIMEOUT_MS,
  idleMs: IDLE_MS,
  maxWaiting: MAX_WAITING,
  maxWaitingOfOwner: MAX_OF_OWNER,
  full: tooManyFiles,
});

/** Counts the files of the bodies of one gateway, in a thread of the process. */
export class FileCounter {
  readonly #countText: (sample: TextSample) => Promise<number>;
  readonly #closed = new AbortController();

  /** @param countText Upper estimate of the tokens of a text; never rejects. */
  constructor(countText: (sample: TextSample) => Promise<number>) {
    this.#countText = countText;
  }

  /**
   * Upper estimate of the tokens of the files in a JSON body. Owners take turns.
   * @throws GatewayError `unsupported_value` naming the field of a file that cannot be read; `queue_full`.
   */
  async count(body: Uint8Array, owner: string): Promise<number> {
    const answer = await this.#read(body, owner);
    if ('unread' in answer) throw unreadable(answer.unread);
    let tokens = 0;
    if ('files' in answer) for (const file of answer.files) tokens += await tokensOf(file, this.#countText);
    return tokens;
  }

  /** What it counts fails. */
  close(): void {
    this.#closed.abort(new Error('the gateway closes'));
  }

  async #read(body: Uint8Array, owner: string): Promise<FileAnswer> {
    // A view of a pool would take all of the pool along.
    const copy = new Uint8Array(body);
    let path = '';
    const isAnswer = (answer: FileAnswer) => {
      if ('reading' in answer) path = answer.reading;
      return !('reading' in answer);
    };
    try {
      const { signal } = this.#closed;
      return await thread.run({ body: copy }, { owner, transfer: [copy.buffer], isAnswer, signal });
    } catch (error) {
      if (isGatewayError(error)) throw error;
      return { unread: { path, why: 'takes too much time or memory to read', accepted: '' } };
    }
  }
}

function tooManyFiles(): GatewayError {
  return new GatewayError('queue_full', 'Too many files wait to be read.', { retryAfterSeconds: 1 });
}

async function tokensOf(
  { sample, pages, images, seconds }: ReadFile,
  countText: (sample: TextSample) => Promise<number>,
) {
  const text = await countText(sample);
  const document = Math.max(pages * PAGE_TOKENS, pages * PAGE_IMAGE_TOKENS + text);
  return document + images * IMAGE_TOKENS + Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND);
}

function unreadable({ path, why, accepted }: { path: string; why: string; accepted: string }): GatewayError {
  const place = path === '' ? 'A file of the request' : path;
  const kinds = accepted === '' ? 'Send a smaller file' : `Send one of these: ${accepted}`;
  const reason = 'so its tokens cannot be estimated for the budget of this API key';
  return new GatewayError('unsupported_value', `${place} ${why}, ${reason}. ${kinds}; or send its text.`, {
    ...(path !== '' && { param: path }),
  });
}
