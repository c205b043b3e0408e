/** A port for a program that is told its port and cannot choose a free one itself. */

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';

/**
 * Ports below those that Linux gives to connections and to servers that let it choose (32768 to 60999 by default). A port
 * of those that is free now may belong to another test before the program listens on it.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;
const TRIES = 50;

/** A random port of loopback on which no other process listens. @throws Error if 50 ports are taken. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
  throw new Error(`${TRIES} ports between ${LOWEST} and ${HIGHEST} are taken.`);
}

async function isFree(port: number): Promise<boolean> {
  const server = net.createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
