/** A text upstream that sends given pieces. */

import { setImmediate as turn } from 'node:timers/promises';
import { definePlugin, type Plugin, type TextCall, type TextModel, type TextProvider, type TextReply } from 'mediagate';
import { untilAborted } from '../until-aborted.js';

/** One piece of a body: bytes, a failure, no end in sight, or something that is waited for. */
export type Piece = Uint8Array | Error | 'stall' | Promise<unknown>;

/** What the upstream of a scripted model sends. */
export interface Script {
  /** Default `text/event-stream`. */
  contentType?: string;
  headers?: Readonly<Record<string, string>>;
  pieces: Iterable<Piece>;
}

export const UPSTREAM_MODEL = 'vendor/secret-name';

/** A provider in this process, whose upstream sends exactly the pieces it is told to. */
export interface ScriptedText {
  readonly plugin: Plugin;
  /** Calls so far; `signal` tells whether they were given up. */
  readonly calls: readonly TextCall[];
  /** Bodies that were left before their end, or read to it. */
  readonly closed: number;
}

export interface ScriptedTextOptions {
  models?: readonly TextModel[];
  stored?: TextProvider['stored'];
  standIn?: boolean;
}

const MODELS: readonly TextModel[] = [
  { id: 'm-5.5', routes: ['chat_completions', 'responses'], efforts: ['low', 'medium', 'high', 'xhigh'] },
  { id: 'm-chat', routes: ['chat_completions'], efforts: [] },
];

export function scriptedText(
  script: (call: TextCall) => Script | Promise<Script>,
  { models = MODELS, stored, standIn = false }: ScriptedTextOptions = {},
): ScriptedText {
  const calls: TextCall[] = [];
  let closed = 0;

  async function* read(pieces: Iterable<Piece>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      for (const piece of pieces) {
        signal.throwIfAborted();
        if (piece === 'stall') await untilAborted(signal);
        else if (piece instanceof Error) throw piece;
        else if (piece instanceof Promise) await piece;
        else yield piece;
        await turn();
      }
    } finally {
      closed += 1;
    }
  }

  const provider: TextProvider = {
    models,
    ...(stored && { stored }),
    async send(call): Promise<TextReply> {
      calls.push(call);
      const { contentType = 'text/event-stream', headers = {}, pieces } = await script(call);
      return {
        status: 200,
        headers: { 'content-type': contentType, ...headers },
        body: read(pieces, call.signal),
        upstream: 'first',
        upstreamModel: UPSTREAM_MODEL,
      };
    },
  };
  return {
    plugin: definePlugin({
      name: 'scripted_text',
      apiVersion: 1,
      summary: 'Says what it is told to.',
      provides: ['text'],
      standIn,
      setup: () => ({ textProviders: [provider] }),
    }),
    calls,
    get closed() {
      return closed;
    },
  };
}

/** Bytes in pieces of so many. */
export function inPieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}
