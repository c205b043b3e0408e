import { arrival } from './json-request.js';

/**
 * The `data` of server-sent events, one after the other.
 *
 * @throws RequestProblem where the network ends them; what the signal ends, as it is.
 */
export async function* readEventData(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await arrival(reader.read(), signal);
      rest += decoder.decode(value, { stream: !done });
      const events = rest.split(/\r?\n\r?\n/);
      // What stands behind the last empty line is not whole yet.
      rest = events.pop() ?? '';
      for (const event of events) yield* dataOf(event);
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function* dataOf(event: string): Generator<string> {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  if (lines.length > 0) yield lines.map((line) => line.slice(5).trimStart()).join('\n');
}
