/*
 * Loads the secrets of the gateway: those of the settings, newest first, or one in the data folder that is created once
 * with access for this user alone. Commands that only inspect use the `find` functions, which create nothing. Processes
 * on one database compare fingerprints of their secrets, prices and plans; the hash of a secret is keyed with the
 * secret itself, so it reveals nothing. All secrets of the settings are listed for redaction in the log. The file also
 * checks the free space of a folder.
 */

import { createHash, createHmac, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Fingerprint } from '../../core/database/index.js';
import { loadSecret } from '../../core/storage/index.js';
import { createPepper, type Pepper } from '../keys/index.js';
import type { Catalogue } from '../plans/index.js';
import type { Settings } from './settings.js';

const KEY_PEPPER = 'key-pepper';
const LINK_SECRET = 'link-secret';
const WEBHOOK_SECRET = 'webhook-secret';
const SECRET_BYTES = 32;

/** Peppers of the settings, newest first; if none is set, the one stored in the data folder. */
export async function loadPeppers(settings: Settings): Promise<[Pepper, ...Pepper[]]> {
  const [newest, ...older] = settings.keyPeppers.map((text) => createPepper(Buffer.from(text)));
  if (newest) return [newest, ...older];
  return [createPepper(await loadSecret(settings.dataDir, KEY_PEPPER))];
}

/** Secrets of the hashes of erased identities: those of the peppers, under another name. */
export async function loadIdentitySecrets({
  keyPeppers,
  dataDir,
}: Pick<Settings, 'keyPeppers' | 'dataDir'>): Promise<readonly Uint8Array[]> {
  if (keyPeppers.length > 0) return keyPeppers.map((text) => Buffer.from(text));
  return [await loadSecret(dataDir, KEY_PEPPER)];
}

/** As {@link loadIdentitySecrets}; empty if neither the settings nor the data folder has one. Creates none. */
export async function findIdentitySecrets(settings: Settings): Promise<readonly Uint8Array[]> {
  const known = settings.keyPeppers.length > 0 || isStored(settings, KEY_PEPPER);
  return known ? loadIdentitySecrets(settings) : [];
}

/** Peppers of the settings or of the data folder; empty if neither has one. Creates none. */
export async function findPeppers(settings: Settings): Promise<Pepper[]> {
  const known = settings.keyPeppers.length > 0 || isStored(settings, KEY_PEPPER);
  return known ? loadPeppers(settings) : [];
}

/** Signing secrets of links, newest first; if none is set, the one stored in the data folder. */
export async function loadLinkSecrets(settings: Settings): Promise<readonly Uint8Array[]> {
  if (settings.linkSecrets.length > 0) return settings.linkSecrets.map((text) => Buffer.from(text));
  return [await loadSecret(settings.dataDir, LINK_SECRET)];
}

/** Signing secrets of links; if none is set or stored, a temporary one, which is not stored. */
export async function findLinkSecrets(settings: Settings): Promise<readonly Uint8Array[]> {
  const known = settings.linkSecrets.length > 0 || isStored(settings, LINK_SECRET);
  return known ? loadLinkSecrets(settings) : [randomBytes(SECRET_BYTES)];
}

/** Secrets that webhook secrets are derived from, newest first; if none is set, the one stored in the data folder. */
export async function loadWebhookSecrets(settings: Settings): Promise<[Uint8Array, ...Uint8Array[]]> {
  const [newest, ...older] = settings.imageWebhookSecrets.map((text) => Buffer.from(text));
  return newest ? [newest, ...older] : [await loadSecret(settings.dataDir, WEBHOOK_SECRET)];
}

/**
 * Settings that all processes on one database must agree on. The hash of a secret is keyed with the secret itself, so
 * it reveals nothing. A worker creates no secrets, so only the configured ones count.
 */
export async function fingerprintsOf(
  settings: Settings,
  { isWorker, plans, prices }: { isWorker: boolean; plans: Catalogue; prices?: { text: string } },
): Promise<Fingerprint[]> {
  const { keyPeppers, linkSecrets, imageWebhookSecrets, imageWebhooks, dataDir } = settings;
  const given = (texts: readonly string[]) => texts.map((text) => Buffer.from(text));
  const secrets: [string, readonly Uint8Array[]][] = [
    ['KEY_PEPPER', isWorker || keyPeppers.length > 0 ? given(keyPeppers) : [await loadSecret(dataDir, KEY_PEPPER)]],
    ['LINK_SECRET', isWorker ? given(linkSecrets) : await loadLinkSecrets(settings)],
    [
      'IMAGE_WEBHOOK_SECRET',
      isWorker || !imageWebhooks ? given(imageWebhookSecrets) : await loadWebhookSecrets(settings),
    ],
  ];
  const required = secrets
    .filter(([, values]) => values.length > 0)
    .map(([setting, values]) => ({ setting, hashes: values.map((value) => hashOf(setting, value)), required: true }));
  const compared = (setting: string, text: string) => {
    return { setting, hashes: [createHash('sha256').update(text).digest('hex')], required: false };
  };
  const ofAll = [...required, compared('PRICES_FILE', prices?.text ?? '')];
  return isWorker ? ofAll : [...ofAll, compared('PLANS_FILE', JSON.stringify(plans))];
}

function hashOf(setting: string, secret: Uint8Array): string {
  return createHmac('sha256', secret).update(`mediagate fingerprint 1\n${setting}`).digest('hex').slice(0, 32);
}

function isStored({ dataDir }: Settings, name: string): boolean {
  return existsSync(path.join(dataDir, 'secrets', name));
}

/** All secrets in the settings, for redaction in the log. */
export function secretsOf(settings: Settings): string[] {
  const urls = [settings.databaseUrl, settings.cacheUrl, settings.filesUrl, settings.egressProxyUrl, settings.smtpUrl];
  const passwords = urls.flatMap((url) => {
    const password = url === undefined ? undefined : URL.parse(url)?.password;
    return password ? [password, decodeURIComponent(password)] : [];
  });
  const { keyPeppers, linkSecrets, imageWebhookSecrets, oidcClientSecret, paymentSecrets, otlpHeaders = {} } = settings;
  // In `Bearer TOKEN`, the token without its scheme is a secret, too.
  const headers = Object.values(otlpHeaders).flatMap((value) => [value, value.split(' ').at(-1) ?? '']);
  const shared = [...Object.values(paymentSecrets), ...(oidcClientSecret ? [oidcClientSecret] : [])];
  return [...keyPeppers, ...linkSecrets, ...imageWebhookSecrets, ...shared, ...headers, ...new Set(passwords)];
}

/** With less free space, a database cannot reliably commit. */
const MIN_BYTES = 16 * 1024 * 1024;
/** Every image is a file, and SQLite and temporary files need a few. */
export const MIN_FILES = 64;

/**
 * Checks that a folder is writable and has free space.
 * @param min - free bytes that this process requires. Default 16 MiB.
 * @throws Error if the folder is missing or its disk is full.
 */
export async function checkRoom(folder: string, min = MIN_BYTES): Promise<void> {
  const { free, files } = await roomOf(folder);
  if (free < min) throw new Error(`fewer than ${min} bytes are free in ${folder}`);
  if (files < MIN_FILES) throw new Error(`fewer than ${MIN_FILES} inodes are free in ${folder}`);
}

/** Free bytes of a folder's file system, and how many more files it can hold: infinite without a limit. */
export async function roomOf(folder: string): Promise<{ size: number; free: number; files: number }> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(folder);
  return { size: blocks * bsize, free: bavail * bsize, files: files === 0 ? Number.POSITIVE_INFINITY : ffree };
}
