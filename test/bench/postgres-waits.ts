/** Samples what the connections of gateways wait for in PostgreSQL. */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const SAMPLE_MS = 10;
const SHOWN = 4;

/** What the connections of gateways were seen to do, by name: how often. */
export type Waits = ReadonlyMap<string, number>;

/** Looks at what the gateways' connections wait for until it is stopped. */
export async function watchWaits(databaseUrl: string): Promise<{ stop(): Promise<Waits> }> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'bench' });
  client.on('error', () => undefined);
  await client.connect();
  const seen = new Map<string, number>();
  let watching = true;
  const watched = (async () => {
    while (watching) {
      const { rows } = await client.query<{ doing: string }>(`
        select case when state = 'active' then coalesce(wait_event_type || ' ' || wait_event, 'on the CPU')
          when state = 'idle in transaction' then 'waits for its node' else 'idle' end as doing
        from pg_stat_activity where application_name = 'mediagate' and datname = current_database()`);
      for (const { doing } of rows) if (doing !== 'idle') seen.set(doing, (seen.get(doing) ?? 0) + 1);
      await sleep(SAMPLE_MS);
    }
  })();
  // Where the measuring fails, so does this; the former says why.
  watched.catch(() => undefined);
  return {
    async stop() {
      watching = false;
      await watched;
      await client.end();
      return seen;
    },
  };
}

/** The commonest, with their shares: `on the CPU 40%, …`. */
export function renderWaits(all: readonly Waits[]): string {
  const sums = new Map<string, number>();
  for (const waits of all) for (const [name, count] of waits) sums.set(name, (sums.get(name) ?? 0) + count);
  const total = [...sums.values()].reduce((sum, count) => sum + count, 0);
  return [...sums]
    .sort(([, left], [, right]) => right - left)
    .slice(0, SHOWN)
    .map(([name, count]) => `${name} ${Math.round((100 * count) / total)} %`)
    .join(', ');
}
