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
  const maintenance = createClient({ url: serverUrl });
  const free = Array.from({ length: COUNT }, (_, index) => index);
  return {
    take() {
      const number = free.shift();
      if (number === undefined) throw new Error(`All ${COUNT} databases of Redis are taken.`);
      const url = `${serverUrl}/${number}`;
      return {
        url,
        async giveBack() {
          // The package makes a class for each configuration that differs from the last one, which takes 24 ms.
          const client = maintenance.duplicate({ database: number });
          client.on('error', () => undefined);
          await client.connect();
          await client.flushDb();
          client.destroy();
          // The next gateway has the same address, and the class is there.
          free.unshift(number);
        },
      };
    },
  };
}
