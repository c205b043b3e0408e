/** CPU time of a PostgreSQL server and its connections, from /proc. */

import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';

const TICKS_PER_SECOND = 100;

/** Process id of the server behind a URL of its superuser. */
export async function findPostmaster(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query("select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid");
    return rows[0].pid;
  } finally {
    await client.end();
  }
}

/** CPU milliseconds that a server and all its processes have used so far, those that have ended included; Linux alone. */
export function cpuOfPostgres(postmaster: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = readStat(name);
    if (!fields) continue;
    const [user = 0, system = 0, userOfEnded = 0, systemOfEnded = 0] = fields.slice(11, 15).map(Number);
    if (Number(name) === postmaster) ticks += user + system + userOfEnded + systemOfEnded;
    else if (Number(fields[1]) === postmaster) ticks += user + system;
  }
  return (ticks * 1000) / TICKS_PER_SECOND;
}

/** From the state, field 3, on: the name before it may hold spaces and brackets. */
function readStat(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
