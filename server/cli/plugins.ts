import type { Settings } from '../settings/index.js';
import { withGateway } from './command-gateway.js';
import { openCommandLogger } from './command-logger.js';
import { print, printJson } from './output.js';
import { renderPluginTable } from './plugin-table.js';

/** Loads every entry of the plugins file and prints how it fares. */
export async function pluginsCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const logger = openCommandLogger(settings);
  try {
    return await withGateway(settings, logger, async (gateway) => {
      if (json) printJson(gateway.plugins());
      else print(`${renderPluginTable(gateway.plugins())}\n`);
      return 0;
    });
  } finally {
    await logger.close();
  }
}
