import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { overCap } from './http-decoding.js';
import { httpFailure } from './http-failure.js';
import type { RequestLife } from './request-life.js';

/** An answer whose body is on its way. */
export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  body: ReceivedBody;
}

/** The bytes as they came, to be read once. Leaving the loop closes the connection. What it throws is a GatewayError. */
export interface ReceivedBody extends AsyncIterableIterator<Uint8Array> {
  /** Nobody sends the request elsewhere: it is over with the last byte of this. */
  conclude(): void;
  /** Closes the connection, unless the body has been received. */
  close(): void;
}

export interface ReceiveOptions {
  life: RequestLife;
  /** Over it, reading fails. */
  maxBytes: number;
}

/** Bytes that may wait for their reader before the origin is asked to wait. */
const MOST_WAITING = 64 * 1024;

/**
 * Sends a request. Straight from the parser to whoever reads: the streams that undici has for this cost more than all else
 * that is done for a request.
 * @throws GatewayError `upstream_*`, or the reason by which the life was stopped.
 */
export function receive(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { life, maxBytes }: ReceiveOptions,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const receiver = new Receiver(life, maxBytes, { resolve, reject });
    if (!life.stopped) dispatcher.dispatch(request, receiver);
  });
}

interface Waiting<Value> {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

class Receiver implements Dispatcher.DispatchHandler, ReceivedBody {
  readonly #life: RequestLife;
  readonly #maxBytes: number;
  #head: Waiting<Received> | undefined;
  #reader: Waiting<IteratorResult<Uint8Array>> | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Uint8Array[] = [];
  #waiting = 0;
  #received = 0;
  #isPaused = false;
  #isClosed = false;
  #isConclusive = false;
  #failure: { error: unknown } | undefined;

  constructor(life: RequestLife, maxBytes: number, head: Waiting<Received>) {
    this.#life = life;
    this.#maxBytes = maxBytes;
    this.#head = head;
    life.onStop = (reason) => this.#stop(reason);
    if (life.stopped) this.#stop(life.reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It may have been stopped before it had a connection.
    if (this.#isClosed) controller.abort(closed());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#head?.resolve({ status, headers, body: this });
    this.#head = undefined;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#isClosed) return;
    this.#life.heard();
    this.#received += chunk.length;
    if (this.#received > this.#maxBytes) {
      this.#fail(overCap());
      controller.abort(closed());
    } else if (this.#reader) {
      this.#reader.resolve({ done: false, value: chunk });
      this.#reader = undefined;
    } else {
      this.#chunks.push(chunk);
      this.#waiting += chunk.length;
      if (this.#waiting <= MOST_WAITING || this.#isPaused) return;
      this.#isPaused = true;
      this.#life.suspendSilence();
      controller.pause();
    }
  }

  onResponseEnd(): void {
    if (this.#isClosed) return;
    this.#finish();
    this.#reader?.resolve({ done: true, value: undefined });
    this.#reader = undefined;
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
    if (!this.#isClosed) this.#fail(error);
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      this.#waiting -= chunk.length;
      if (this.#isPaused && this.#waiting <= MOST_WAITING / 2) this.#resume();
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#isClosed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  conclude(): void {
    this.#isConclusive = true;
    if (this.#isClosed) this.#life.finish();
  }

  close(): void {
    this.#chunks = [];
    if (this.#isClosed) return;
    this.#finish();
    this.#controller?.abort(closed());
    this.#reader?.resolve({ done: true, value: undefined });
    this.#reader = undefined;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #resume(): void {
    this.#isPaused = false;
    if (this.#isClosed) return;
    this.#life.awaitBytes();
    this.#controller?.resume();
  }

  /** From outside: what is there already is of no interest any more. */
  #stop(reason: unknown): void {
    if (this.#isClosed) return;
    this.#chunks = [];
    this.#fail(reason);
    this.#controller?.abort(closed());
  }

  #fail(thrown: unknown): void {
    const error = httpFailure(thrown, this.#life);
    this.#finish();
    this.#failure = { error };
    this.#head?.reject(error);
    this.#head = undefined;
    this.#reader?.reject(error);
    this.#reader = undefined;
  }

  #finish(): void {
    this.#isClosed = true;
    if (this.#isConclusive) this.#life.finish();
  }
}

/** For undici alone: whoever reads has been told already. */
function closed(): Error {
  return new Error('closed');
}
