/*
 * Makes renames and removals in a folder survive a power cut, and copies files with their hash. Callers of a
 * `FolderSync` that arrive during a sync share the next one, so many writers cost few syncs; the folder stays open,
 * because opening it takes as long as a sync. Links and special files are never followed or copied. Copies are
 * readable only by their owner, synced, and have the time of their source. Windows cannot sync folders, so nothing is
 * done there.
 */

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isSystemError } from '../runtime/index.js';

/**
 * Calls during a sync share the next one: one sync covers all files before it. The folder stays open, since opening and
 * closing it takes as long again.
 */
export class FolderSync {
  readonly #folder: string;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #handle: Promise<FileHandle> | undefined;
  #closed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Resolves when everything that was renamed or removed in the folder before the call survives a power cut. */
  sync(): Promise<void> {
    this.#next ??= this.#syncNext(this.#running);
    return this.#next;
  }

  /** Closes the folder. A later sync opens it again. */
  async close(): Promise<void> {
    this.#closed = true;
    await (this.#next ?? this.#running)?.catch(() => undefined);
    await this.#letGo();
  }

  async #syncNext(before: Promise<void> | undefined): Promise<void> {
    // Its failure is reported to the waiting callers.
    await before?.catch(() => undefined);
    this.#running = this.#next;
    this.#next = undefined;
    await this.#syncOnce();
  }

  async #syncOnce(): Promise<void> {
    // Windows cannot sync folders.
    if (process.platform === 'win32') return;
    this.#handle ??= open(this.#folder, constants.O_RDONLY);
    let isSynced = false;
    try {
      await (await this.#handle).sync();
      isSynced = !this.#closed;
    } finally {
      if (!isSynced) await this.#letGo();
    }
  }

  async #letGo(): Promise<void> {
    const gone = this.#handle;
    this.#handle = undefined;
    // If it could not be opened, the caller gets the error.
    await gone?.then((opened) => opened.close()).catch(() => undefined);
  }
}

/** Makes what was renamed or removed in the folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot sync folders.
  if (process.platform === 'win32') return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const CHUNK_BYTES = 256 * 1024;

/** A whole file. */
export interface FileDigest {
  bytes: number;
  /** In lower-case hex. */
  sha256: string;
}

/**
 * Copies a file with its time, readable only by its owner, and syncs it. The target must not exist.
 * @returns Undefined if the source does not exist, or is no plain file.
 */
export async function copyWithDigest(
  source: string,
  target: string,
  signal: AbortSignal,
): Promise<FileDigest | undefined> {
  const from = await openPlain(source);
  if (!from) return undefined;
  try {
    const stats = await from.stat();
    if (!stats.isFile()) return undefined;
    const to = await open(target, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      const digest = await pass(from, (chunk) => to.writeFile(chunk), signal);
      await to.utimes(stats.atime, stats.mtime);
      await to.sync();
      return digest;
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/** @returns Undefined if the file does not exist, or is no plain file. */
export async function digestOf(file: string, signal: AbortSignal): Promise<FileDigest | undefined> {
  const handle = await openPlain(file);
  if (!handle) return undefined;
  try {
    return (await handle.stat()).isFile() ? await pass(handle, async () => undefined, signal) : undefined;
  } finally {
    await handle.close();
  }
}

async function openPlain(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    // ELOOP means that it is a link; its target is not ours.
    if (isSystemError(error, 'ENOENT', 'ELOOP')) return undefined;
    throw error;
  }
}

async function pass(
  from: FileHandle,
  take: (chunk: Uint8Array) => Promise<void>,
  signal: AbortSignal,
): Promise<FileDigest> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await from.read(buffer, 0, CHUNK_BYTES, bytes);
    if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') };
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    await take(chunk);
    bytes += bytesRead;
  }
}
