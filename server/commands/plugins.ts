import { openGateway } from '../open-gateway.js';
import { renderPluginTable } from '../plugin-table.js';
import type { Settings } from '../settings.js';
import { openCommandLogger } from './command-logger.js';
import { print, printJson } from './output.js';

/** Loads every entry of the plugins file and prints how it fares. */
export async function pluginsCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const logger = openCommandLogger(settings);
  try {
    const gateway = await openGateway({
      settings,
      environment: process.env,
      logger,
      baseUrl: () => '',
      lookOnly: true,
    });
    try {
      if (json) printJson(gateway.plugins());
      else print(`${renderPluginTable(gateway.plugins())}\n`);
      return 0;
    } finally {
      await gateway.close();
    }
  } finally {
    await logger.close();
  }
}
