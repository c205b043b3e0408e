import type { BatchItem } from '../../core/contracts/index.js';
import type { RequestContext, ServerContext } from '../http/index.js';
import { keyOf } from '../keys/index.js';

/** Counts admitted requests of link data in the usage log, where the platform stands in place of the model. */
export function createLinkUsage({ usageLog, clock }: Pick<ServerContext, 'usageLog' | 'clock'>, route: string) {
  function count(context: RequestContext, platform: string, { requests = 1, failed = 0 } = {}): void {
    const { id, accountId } = keyOf(context);
    const latencyMs = requests * Math.max(0, clock.monotonic() - context.state.startedAt);
    const at = clock.now();
    usageLog.count({ keyId: id, accountId, route, model: platform, requests, failed, latencyMs, at });
  }

  return {
    count,
    /** Counts the request when the work has ended. */
    async counted<Result>(context: RequestContext, platform: string, work: Promise<Result>): Promise<Result> {
      let failed = 1;
      try {
        const result = await work;
        failed = 0;
        return result;
      } finally {
        count(context, platform, { failed });
      }
    },
    /** Each link of a batch is a request, as for the rate limit. */
    countBatch(context: RequestContext, items: readonly BatchItem[], platformOf: (url: string) => string): void {
      const ofPlatform = Map.groupBy(items, ({ url }) => platformOf(url));
      for (const [platform, group] of ofPlatform) {
        const failed = group.filter((item) => 'error' in item).length;
        count(context, platform, { requests: group.length, failed });
      }
    },
  };
}
