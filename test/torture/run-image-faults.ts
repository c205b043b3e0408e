import { parseArgs } from 'node:util';
import { startPostgres } from '../support/postgres.js';
import { isClean } from './image-findings.js';
import { tortureByKills } from './image-kills.js';
import { openImageSite } from './image-site.js';

const { values: flags } = parseArgs({
  options: { engine: { type: 'string', default: 'sqlite,postgres' }, kills: { type: 'string', default: '200' } },
});
for (const engine of flags.engine.split(',')) {
  const postgres = engine === 'postgres' ? await startPostgres() : undefined;
  if (postgres && 'unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
  const databaseUrl = await postgres?.createDatabase();
  const site = await openImageSite({ keys: 20, rpm: 30, databaseUrl });
  try {
    const report = await tortureByKills(site, {
      kills: Number(flags.kills),
      clients: 20,
      lifeMs: 600,
      drawMs: 80,
      paceMs: 400,
      patienceMs: 300_000,
    });
    console.log(engine, report);
    if (!isClean(report)) process.exitCode = 1;
  } finally {
    await site.remove();
    await postgres?.stop();
  }
}
