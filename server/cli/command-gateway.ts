import type { Gateway, Logger } from 'mediagate';
import { openGateway } from '../open-gateway.js';
import type { Settings } from '../settings/index.js';

/** A gateway to look at, without state, for as long as `work` takes. */
export async function withGateway<Result>(
  settings: Settings,
  logger: Logger,
  work: (gateway: Gateway) => Promise<Result>,
): Promise<Result> {
  const gateway = await openGateway({
    settings,
    environment: process.env,
    logger,
    baseUrl: () => '',
    lookOnly: true,
  });
  try {
    return await work(gateway);
  } finally {
    await gateway.close();
  }
}
