/*
 * The role of a process (`api`, `worker` or `all`) and the settings that follow from it. Roles need PostgreSQL, since
 * nodes share work only there.
 */

import { type Settings, SettingsError } from './settings/index.js';
import type { WorkerPlace } from './workers/index.js';

/** The role of a process: `api` answers requests, `worker` runs background jobs, `all` does both. */
export type Role = 'all' | 'api' | 'worker';

/**
 * The settings of a role.
 * @throws SettingsError if the role would leave work undone, or has none.
 */
export function settingsOfRole(settings: Settings, role: Role): Settings {
  if (role === 'all') return settings;
  const { databaseUrl, extractWorkers, imageWorkers } = settings;
  if (databaseUrl === undefined) {
    throw new SettingsError(
      `DATABASE_URL must be set for "--role ${role}": nodes share work only through one PostgreSQL database.`,
    );
  }
  if (role === 'api') return { ...settings, extractWorkers: 0, imageWorkers: 0 };
  if (extractWorkers + imageWorkers === 0) {
    throw new SettingsError('EXTRACT_WORKERS or IMAGE_WORKERS must be above 0 for "--role worker".');
  }
  return settings;
}

/**
 * The settings of one worker of several on this machine. What one process may have of the machine is shared out: the
 * connections to the database, and those of clients, which reach the workers in turn.
 */
export function settingsOfWorker(settings: Settings, { count, background }: WorkerPlace): Settings {
  const share = (total: number, minimum = 1) => Math.max(minimum, Math.ceil(total / count));
  return {
    ...settings,
    databasePool: share(settings.databasePool, 2),
    maxConnections: share(settings.maxConnections),
    maxConnectionsPerAddress: share(settings.maxConnectionsPerAddress),
    ...(!background && { extractWorkers: 0, imageWorkers: 0 }),
  };
}

/** Names what is stored in the data folder although all nodes need the same. */
export function storedInFolder(settings: Settings): string[] {
  const { filesUrl, keyPeppers, linkSecrets, imageWebhooks, imageWebhookSecrets } = settings;
  return [
    ...(filesUrl === undefined ? ['files (FILES_URL)'] : []),
    ...(keyPeppers.length === 0 ? ['the secret of key hashes (KEY_PEPPER)'] : []),
    ...(linkSecrets.length === 0 ? ['the secret of MP3 links (LINK_SECRET)'] : []),
    ...(imageWebhooks && imageWebhookSecrets.length === 0 ? ['the secret of webhooks (IMAGE_WEBHOOK_SECRET)'] : []),
  ];
}
