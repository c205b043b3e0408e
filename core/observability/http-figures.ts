import type { HttpClient, Meter } from '../contracts/index.js';
import { failureOf } from './work-scope.js';

/** The same client; each request is told of when it has its answer, or the answer's header where the body is handed over. */
export function measureHttp(client: HttpClient, entry: string, meter: Meter): HttpClient {
  async function measure<Answer extends { status: number }>(send: () => Promise<Answer>): Promise<Answer> {
    const begun = performance.now();
    let outcome = 'unknown';
    try {
      const answer = await send();
      outcome = `${Math.floor(answer.status / 100)}xx`;
      return answer;
    } catch (error) {
      outcome = failureOf(error);
      throw error;
    } finally {
      meter.upstreamAnswered({ entry, outcome, ms: performance.now() - begun });
    }
  }

  return {
    request: (request) => measure(() => client.request(request)),
    stream: (request) => measure(() => client.stream(request)),
  };
}
