/** Reads a stream of events by the standard. */

import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** A stream of events as a client by the standard understands it. */
export interface ReadEvents {
  events: EventSourceMessage[];
  /** What the parser minds. */
  complaints: string[];
  /** How the connection ended, where it broke. */
  broken?: unknown;
}

/**
 * Reads an answer to its end by the events that are in it. Never rejects.
 * @param events Gets them as they come.
 */
export async function readEvents(answer: Response, events: EventSourceMessage[] = []): Promise<ReadEvents> {
  const complaints: string[] = [];
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onError: (error) => complaints.push(error.message),
  });
  const decoder = new TextDecoder();
  try {
    for await (const bytes of answer.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  } catch (broken) {
    return { events, complaints, broken };
  }
  return { events, complaints };
}

/** The events of bytes that are all here; one whose end is missing counts where nothing more comes. */
export function eventsOfBytes(bytes: Uint8Array): EventSourceMessage[] {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  parser.feed(`${new TextDecoder().decode(bytes)}\n\n`);
  return events;
}
