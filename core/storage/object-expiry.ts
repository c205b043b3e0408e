import type { FileStat } from '../contracts/index.js';
import { isGatewayError } from '../runtime/index.js';
import type { ObjectStore } from './object-store.js';

/*
 * A listing says nothing of what is kept with an object, and asking each is dear. So a file that expires has a marker,
 * named by the hour in which it may be removed: listings are in the order of their names, and begin with what is due.
 */
const MARKERS = '.expiry/';
const HOUR_MS = 3_600_000;
const MARKER = /^\.expiry\/(\d{4}-\d{2}-\d{2}T\d{2})\/([^/]+)$/;
const PARALLEL = 4;

/** Name of the marker of a file; undefined for one that is kept. */
export function expiryMarkerOf({ name, expiresAt }: FileStat): string | undefined {
  if (!expiresAt) return undefined;
  const hour = new Date(Math.ceil(expiresAt.getTime() / HOUR_MS) * HOUR_MS);
  return `${MARKERS}${hour.toISOString().slice(0, 13)}/${name}`;
}

/**
 * Removes files whose time is over, up to 1,000 at once, and their markers. Several nodes may do so at the same time.
 * @returns whether that were all.
 */
export async function sweepObjects(store: ObjectStore, now: number): Promise<boolean> {
  const markers = await store.list(MARKERS);
  const due = markers.filter((marker) => {
    const hour = MARKER.exec(marker)?.[1];
    return hour !== undefined && Date.parse(`${hour}:00:00Z`) <= now;
  });
  const rest = due.values();
  const work = async () => {
    for (const marker of rest) {
      const name = MARKER.exec(marker)?.[2] ?? '';
      // A file that was written again has another time, and another marker.
      const file = await store.stat(name).catch(notOurs);
      if (file?.expiresAt && file.expiresAt.getTime() <= now) await store.delete(name);
      await store.delete(marker);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return due.length < markers.length || markers.length === 0;
}

/** What another has put there, or damaged, is for somebody to look at, not to remove. */
function notOurs(error: unknown): undefined {
  if (isGatewayError(error) && error.code === 'internal_error') return undefined;
  throw error;
}
