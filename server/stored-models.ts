/*
 * Changes of models that operators stored, for commands that open a gateway of their own: what they print is then what a
 * running gateway on the same state has. The database is only read, and not migrated. If it cannot be read, the models
 * are those of the plugins file, and the result says why.
 */

import type { Gateway } from 'mediagate';
import { readSchemaStatus, withSchema } from '../core/database/index.js';
import type { Logger } from '../core/runtime/index.js';
import { isStateThere } from './backup/index.js';
import { migrations } from './migrations.js';
import {
  AppliedModels,
  type ChangedModel,
  createSealer,
  modelChangeMigrations,
  readChangedModels,
} from './model-changes/index.js';
import type { LivePrices } from './prices/index.js';
import { findIdentitySecrets, type Settings } from './settings/index.js';

export interface StoredModels {
  /** What differs from the configuration. */
  all: readonly ChangedModel[];
  /** Why they could not be read. Absent if they were. */
  problem?: string;
}

/** Makes them effective in a gateway. */
export async function applyStoredModels(
  settings: Settings,
  { gateway, logger, prices }: { gateway: Gateway; logger: Logger; prices?: LivePrices | undefined },
): Promise<StoredModels> {
  const read = await readStored(settings).catch((error: unknown) => {
    return { all: [], problem: error instanceof Error ? error.message : String(error) };
  });
  if (read.all.length === 0) return read;
  const sealer = createSealer(await findIdentitySecrets(settings));
  const applied = await AppliedModels.open({
    changes: { list: async () => read.all },
    gateway,
    prices,
    sealer,
    logger,
  });
  await applied.close();
  return read;
}

async function readStored(settings: Settings): Promise<StoredModels> {
  if (!(await isStateThere(settings))) return { all: [] };
  return withSchema(settings, async (queries) => {
    const { pending } = await readSchemaStatus(queries, migrations);
    const isThere = !Object.keys(modelChangeMigrations).some((name) => pending.includes(name));
    return { all: isThere ? await readChangedModels(queries) : [] };
  });
}
