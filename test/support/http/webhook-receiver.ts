/** A receiver of webhooks that answers as told. */

import { extendOrigin, type OriginServer, startOrigin } from '../links/origin-server.js';
import { until } from '../until.js';

/** One try as it arrived. */
export interface ReceivedWebhook {
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** A server on loopback that webhooks are sent to. */
export interface WebhookReceiver extends OriginServer {
  /** Where webhooks of this name go. */
  url(name: string): string;
  /** What became of the tries for a name: so many as are named, each answered so; then 204. `hang` never answers. */
  behave(name: string, ...answers: readonly (number | 'hang')[]): void;
  /** Tries for a name so far, in the order they came. */
  of(name: string): readonly ReceivedWebhook[];
  /** Resolves once there are so many. */
  heard(name: string, count?: number): Promise<readonly ReceivedWebhook[]>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const behaviours = new Map<string, (number | 'hang')[]>();
  const pathOf = (name: string) => `/hook/${name}?token=hidden`;
  const of = (name: string) => received.filter(({ path }) => path === pathOf(name));
  const origin = await startOrigin((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const { url: path = '' } = request;
      received.push({ path, headers: request.headers as Record<string, string>, body });
      const answer = behaviours.get(path)?.shift() ?? 204;
      // What some servers write for a coding is a charset; its status is what an answer is taken by.
      const fields = { location: '/elsewhere', 'content-encoding': 'utf-8' };
      if (answer !== 'hang') response.writeHead(answer, fields).end();
    });
  });
  return extendOrigin<WebhookReceiver>(origin, {
    url: (name) => origin.origin + pathOf(name),
    behave: (name, ...answers) => void behaviours.set(pathOf(name), [...answers]),
    of,
    heard: (name, count = 1) => until(() => of(name).length >= count && of(name)),
  });
}
