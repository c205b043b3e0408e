/** Audio files on a disk, damaged in every way. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from 'mediagate';
import { readFilesUrl } from '../../../core/storage/files-s3.js';
import { ObjectConnection } from '../../../core/storage/object-client.js';
import { ObjectStore } from '../../../core/storage/object-store.js';

/** Bytes behind the content of a file on a disk: more than its trailer has, and less than any sound. */
const TRAILER_BYTES = 300;

/** What becomes of files where nobody looks: half of one is left, nothing, or all but what is known about it. */
export const DAMAGES = ['truncated', 'empty', 'unlabelled'] as const;
/** Or all of it, with another byte in the middle. */
export type Damage = (typeof DAMAGES)[number] | 'flipped';

/** Where the files of a gateway are: `filesUrl` where they are objects of a store. */
export interface FilePlace {
  dataDir: string;
  filesUrl?: string;
}

/** Damages every file that ends like this, where it is. @returns how many that were. */
export async function damageFiles({ dataDir, filesUrl }: FilePlace, ending: string, damage: Damage): Promise<number> {
  return filesUrl === undefined
    ? damageOnDisk(path.join(dataDir, 'files'), ending, damage)
    : damageObjects(filesUrl, ending, damage);
}

async function damageOnDisk(folder: string, ending: string, damage: Damage): Promise<number> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(ending));
  for (const name of names) {
    const file = path.join(folder, name);
    const bytes = await readFile(file);
    if (damage === 'flipped') flipMiddle(bytes, bytes.length - TRAILER_BYTES);
    const lengths = {
      truncated: bytes.length / 2,
      empty: 0,
      unlabelled: bytes.length - TRAILER_BYTES,
      flipped: undefined,
    };
    await writeFile(file, bytes.subarray(0, lengths[damage]));
  }
  return names.length;
}

function flipMiddle(bytes: Buffer, length: number): void {
  const middle = Math.max(0, Math.floor(length / 2));
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 0x01, middle);
}

async function damageObjects(filesUrl: string, ending: string, damage: Damage): Promise<number> {
  const address = readFilesUrl(filesUrl);
  const options = { address, clock: systemClock, signal: new AbortController().signal };
  const connection = new ObjectConnection(options);
  const names = (await new ObjectStore(options).list('')).filter(
    (name) => !name.includes('/') && name.endsWith(ending),
  );
  for (const name of names) {
    const key = `${address.prefix}${name}`;
    const found = await connection.call({ timeoutMs: 10_000, file: true }, (client) => client.getObjectRaw(key, true));
    if (!found) throw new Error(`There is no ${name}.`);
    const bytes = Buffer.from(await found.result.arrayBuffer());
    if (damage === 'flipped') flipMiddle(bytes, bytes.length);
    const left = { truncated: bytes.length / 2, empty: 0, unlabelled: bytes.length, flipped: bytes.length }[damage];
    const kept = [...found.headers].filter(([header]) => header.startsWith('x-amz-meta-'));
    const metadata = Object.fromEntries(damage === 'unlabelled' ? [] : kept);
    await connection.call({ timeoutMs: 10_000 }, (client) =>
      client.putObject(key, bytes.subarray(0, left), 'audio/mpeg', undefined, metadata),
    );
  }
  return names.length;
}
