import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Static, Type } from '../../core/contracts/index.js';
import { DATABASE_FILE } from '../../core/database/index.js';
import { createValidator, GatewayError, isSystemError } from '../../core/runtime/index.js';
import type { FileDigest } from '../../core/storage/index.js';
import { FILE_NAME, SECRET_NAME } from '../../core/storage/index.js';

/*
 * A backup is a folder: `state.sqlite`, `files/`, `secrets/` where they were asked for, `manifest.json`, and `SHA256SUMS`,
 * which names all of it in the form that `sha256sum --check` reads.
 */

export const MANIFEST_FILE = 'manifest.json';
export const SUMS_FILE = 'SHA256SUMS';
export const FILES_FOLDER = 'files';
export const SECRETS_FOLDER = 'secrets';

const Manifest = Type.Object({
  format: Type.Literal(1),
  /** ISO 8601. */
  madeAt: Type.String(),
  /** Of the program that made it. */
  release: Type.String(),
  migrations: Type.Array(Type.String()),
  /** Rows of each table. */
  tables: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
  files: Type.Object({ count: Type.Integer({ minimum: 0 }), bytes: Type.Integer({ minimum: 0 }) }),
  secrets: Type.Boolean(),
});

/** What a backup says of itself. */
export type BackupManifest = Static<typeof Manifest>;

const manifests = createValidator(Manifest);

/** Whether the folder calls itself a backup. */
export async function isBackup(folder: string): Promise<boolean> {
  try {
    return (await stat(path.join(folder, MANIFEST_FILE))).isFile();
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

/** @throws GatewayError `invalid_value` where the folder is no backup, or one of a form that this release does not know. */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readText(folder, MANIFEST_FILE);
  const checked = manifests.check(parse(text));
  if (checked.ok) return checked.value;
  throw refuse(`${path.join(folder, MANIFEST_FILE)} is none that this release can read.`);
}

export function writeSums(digests: ReadonlyMap<string, FileDigest>): string {
  return [...digests].map(([name, { sha256 }]) => `${sha256}  ${name}\n`).join('');
}

/**
 * SHA-256 of everything in the backup, by its path in the folder.
 * @throws GatewayError `invalid_value` where the list is missing, or names anything that no backup has.
 */
export async function readSums(folder: string): Promise<Map<string, string>> {
  const text = await readText(folder, SUMS_FILE);
  const sums = new Map<string, string>();
  for (const line of text.split('\n').filter(Boolean)) {
    const [, sum, name] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    // Whoever wrote the list must not choose where files are written to.
    if (sum === undefined || name === undefined || !isPartOfBackup(name)) {
      throw refuse(`${path.join(folder, SUMS_FILE)} has a line that no backup has.`);
    }
    sums.set(name, sum);
  }
  for (const name of [DATABASE_FILE, MANIFEST_FILE]) {
    if (!sums.has(name)) throw refuse(`${path.join(folder, SUMS_FILE)} does not name ${name}.`);
  }
  return sums;
}

function isPartOfBackup(name: string): boolean {
  if (name === DATABASE_FILE || name === MANIFEST_FILE) return true;
  const [folder, file = '', ...more] = name.split('/');
  if (more.length > 0) return false;
  if (folder === FILES_FOLDER) return FILE_NAME.test(file);
  return folder === SECRETS_FOLDER && SECRET_NAME.test(file);
}

async function readText(folder: string, name: string): Promise<string> {
  try {
    return await readFile(path.join(folder, name), 'utf8');
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) throw refuse(`${folder} is no backup: it has no ${name}.`, error);
    throw error;
  }
}

function refuse(message: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_value', message, { param: 'folder', cause });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Undefined is no manifest either.
    return undefined;
  }
}
