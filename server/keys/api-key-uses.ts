import type { Database } from '../../core/database/index.js';
import { createListStatement, sql } from '../../core/database/index.js';

/** The statement that writes down when keys were last used, for any number of them: id and time of each, in one order. */
export function createUseStatement({ engine, queries }: Pick<Database, 'engine' | 'queries'>) {
  const lock = engine === 'postgres' ? sql`order by api_keys.id for no key update of api_keys` : sql``;
  return createListStatement((length) => {
    const uses = sql.join(Array.from({ length }, () => sql`(${''}, cast(${0} as bigint))`));
    return sql`with
      used (id, at) as (values ${uses}),
      later as (
        select api_keys.id, used.at from api_keys join used on used.id = api_keys.id
        where api_keys.last_used_at is null or api_keys.last_used_at < used.at ${lock})
      update api_keys set last_used_at = later.at from later where api_keys.id = later.id`.compile(queries);
  });
}
