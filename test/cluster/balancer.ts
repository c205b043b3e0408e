/** A balancer for a local cluster, which asks each node whether it is ready. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What deploys have before their nodes: it passes requests on to nodes that say that they are ready. */
export interface Balancer {
  /** Without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

export interface BalancerOptions {
  /** Default: any free one. */
  port?: number;
  /** Origins of the nodes; asked anew for each request, since nodes come and go. */
  nodes(): readonly string[];
}

/** How often each node is asked whether it is ready, and how long it may take to say so. */
const POLL_MS = 250;
const TIMEOUT_MS = 2_000;
/** Of one connection each, so they are not passed on. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/** One node after the other. A node that cannot be reached is passed over; a request that reached one is sent to no other. */
export async function startBalancer({ port = 0, nodes }: BalancerOptions): Promise<Balancer> {
  const unready = new Set<string>();
  const closing = new AbortController();
  let turn = 0;

  async function look(node: string): Promise<void> {
    const timeout = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), closing.signal]);
    const answer = await fetch(`${node}/health/ready`, { signal: timeout }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) unready.delete(node);
    else unready.add(node);
  }

  async function keepLooking(): Promise<void> {
    while (!closing.signal.aborted) {
      await Promise.all(nodes().map(look));
      await sleep(POLL_MS, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  /** Those that are ready first, each time beginning with another. */
  function inTurn(): string[] {
    const all = nodes();
    turn += 1;
    const turned = all.map((_node, index) => all[(index + turn) % all.length] ?? '');
    return [...turned.filter((node) => !unready.has(node)), ...turned.filter((node) => unready.has(node))];
  }

  function pass(incoming: IncomingMessage, outgoing: ServerResponse, [node, ...others]: readonly string[]): void {
    if (node === undefined) {
      refuse(outgoing, 503, 'no_node', 'No node can be reached.');
      return;
    }
    const headers = passedOn(incoming.headers);
    const { method, url = '/' } = incoming;
    const passed = request(node + url, { method, headers, agent: false });
    let connected = false;
    passed.once('socket', (socket) => {
      socket.once('connect', () => {
        connected = true;
        incoming.pipe(passed);
      });
    });
    passed.once('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, passedOn(answer.headers));
      answer.once('error', () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    passed.once('error', () => {
      if (!connected && !outgoing.destroyed) {
        unready.add(node);
        pass(incoming, outgoing, others);
      } else if (!outgoing.headersSent) refuse(outgoing, 502, 'node_lost', 'The node ended before it had answered.');
      else outgoing.destroy();
    });
    // A client that hangs up takes its request along.
    outgoing.once('close', () => passed.destroy());
  }

  const server = createServer((incoming, outgoing) => {
    outgoing.on('error', () => undefined);
    pass(incoming, outgoing, inTurn());
  });
  // The nodes have their own limits.
  server.requestTimeout = 0;
  // Longer than clients keep a connection, so that none is closed on which a request is on its way.
  server.keepAliveTimeout = 65_000;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const looking = keepLooking();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      closing.abort();
      server.close();
      server.closeAllConnections();
      await looking;
    },
  };
}

function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
}

function refuse(outgoing: ServerResponse, status: number, code: string, message: string): void {
  outgoing.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' });
  outgoing.end(JSON.stringify({ error: { code, message } }));
}
