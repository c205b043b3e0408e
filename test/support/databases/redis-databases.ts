/** Databases of a Redis, lent to tests. */

import { createClient } from '@keyv/redis';

/** How many a server has that nobody configured. */
const COUNT = 16;

export interface RedisDatabase {
  /** Of an empty database, until {@link giveBack}. */
  readonly url: string;
  giveBack(): Promise<void>;
}

/** The numbered databases of one server, each for one gateway at a time. */
export function redisDatabases(serverUrl: string): { take(): RedisDatabase } {
  const free = Array.from({ length: COUNT }, (_, index) => index);
  return {
    take() {
      const number = free.shift();
      if (number === undefined) throw new Error(`All ${COUNT} databases of Redis are taken.`);
      const url = `${serverUrl}/${number}`;
      return {
        url,
        async giveBack() {
          const client = createClient({ url });
          client.on('error', () => undefined);
          await client.connect();
          await client.flushDb();
          client.destroy();
          free.push(number);
        },
      };
    },
  };
}
