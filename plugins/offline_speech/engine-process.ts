/**
 * The program of an engine's process: loads the engine of the module that its argument names and answers each order, in
 * their order. It ends after a failure, which it reports, and with the process that started it.
 */

import type { EngineMessage, OpenEngine } from './engines.js';

const [, , module = ''] = process.argv;

async function load(): Promise<(order: unknown) => Promise<unknown>> {
  const { openEngine } = (await import(module)) as { openEngine: OpenEngine<unknown, unknown> };
  return openEngine();
}

const engine = load();
process.on('message', async (order) => {
  try {
    tell({ answer: await (await engine)(order) });
  } catch (error) {
    tell({ failure: error instanceof Error ? error.stack : String(error) }, () => process.exit(1));
  }
});
process.on('disconnect', () => process.exit());

function tell(message: EngineMessage, sent = () => {}): void {
  process.send?.(message, sent);
}
