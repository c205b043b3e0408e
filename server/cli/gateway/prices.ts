/*
 * The command that imports list prices from a public catalogue into `PRICES_FILE`. It shows each price that changes, and
 * writes nothing if one is suspicious and not accepted. Catalogues are in dollars, so the file has to be in dollars too.
 * The new file is checked like any other and replaces the old one at once.
 */

import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ModelPrices } from '../../../core/contracts/index.js';
import { isSystemError } from '../../../core/runtime/index.js';
import { renderTable, sanitizeForTerminal } from '../../format/index.js';
import { suggestName } from '../../names/index.js';
import {
  importPrices,
  type PriceCatalogue,
  type PriceChange,
  PricesError,
  type PricesFile,
  readPriceCatalogue,
  readPrices,
  readPricesFile,
} from '../../prices/index.js';
import type { Settings } from '../../settings/index.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import { joinParts, type Outcome } from '../output.js';
import type { importPrices as declared } from './model-commands.js';

/** Of catalogues. */
const CURRENCY = 'USD';
/** LiteLLM's file has about 1.5 MB. */
const MAX_BYTES = 50_000_000;

/** Shows what changes, and writes the prices file unless a price is suspicious. */
export async function importPricesCommand(
  settings: Settings,
  given: string,
  { model: wanted = [], accept = false, dryRun = false }: OptionsOf<typeof declared>,
): Promise<Outcome<'ImportedPrices'>> {
  const { pricesFile: file } = settings;
  if (file === undefined) throw new CommandMistake('PRICES_FILE is not set. Set it to the file that is written.');
  const before = await readOwn(file);
  if (before.currency !== CURRENCY) {
    throw new CommandMistake(`Catalogues are in ${CURRENCY}, and ${file} is in ${before.currency}.`);
  }
  const catalogue = await mistaken(async () => readPriceCatalogue(await readJson(given), given));
  const { models, absent } = await mistaken(async () => choose(catalogue, before, wanted));
  const { changes, file: after } = importPrices(before, models);
  const suspicious = changes.filter(({ suspicion }) => suspicion !== undefined);
  const isRefused = suspicious.length > 0 && !accept;
  const isWritten = changes.length > 0 && !isRefused && !dryRun;
  if (isWritten) await write(file, after);
  const ending = isRefused
    ? `${suspicious.length} of the prices are suspicious, so nothing was written. --accept takes them.`
    : isWritten
      ? `${changes.length} prices were written to ${file}. Restart the gateway to use them.`
      : changes.length === 0
        ? 'No price differs.'
        : 'Nothing was written (--dry-run).';
  return {
    json: { written: isWritten, changes: changes.map(describe), not_in_catalogue: absent },
    text: joinParts(changes.length === 0 ? '' : renderTable(HEAD, changes.map(row)), ending),
    remarks: absent.length === 0 ? [] : [`Not in the catalogue, so unchanged: ${absent.join(', ')}.`],
    exitCode: isRefused ? 1 : 0,
  };
}

const HEAD = ['MODEL', 'PRICE', 'BEFORE', 'AFTER', 'SUSPICIOUS'];
const WORDS = { missing: 'it is missing now', '10x': '10 times another price' } as const;

function row({ model, field, before, after, suspicion }: PriceChange): string[] {
  const why = suspicion === undefined ? '' : WORDS[suspicion];
  return [sanitizeForTerminal(model), field, String(before ?? '-'), String(after ?? '-'), why];
}

function describe({ suspicion, ...change }: PriceChange) {
  return { ...change, suspicion: suspicion ?? null };
}

/** A file that does not exist yet has no prices. */
async function readOwn(file: string): Promise<PricesFile> {
  const isThere = await readFile(file).then(
    () => true,
    (error: unknown) => {
      if (isSystemError(error, 'ENOENT')) return false;
      throw error;
    },
  );
  return isThere ? mistaken(() => readPricesFile(file)) : { currency: CURRENCY };
}

async function readJson(file: string): Promise<unknown> {
  const bytes = await readFile(file).catch(() => {
    throw new CommandMistake(`${sanitizeForTerminal(file)} cannot be read.`);
  });
  if (bytes.length > MAX_BYTES) throw new CommandMistake(`${sanitizeForTerminal(file)} is larger than 50 MB.`);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new CommandMistake(`${sanitizeForTerminal(file)} is no JSON.`);
  }
}

/** The prices of the models to import, and those that the catalogue does not have. */
function choose(
  catalogue: PriceCatalogue,
  { models = {} }: PricesFile,
  wanted: readonly string[],
): { models: Record<string, ModelPrices>; absent: string[] } {
  const chosen: Record<string, ModelPrices> = {};
  const absent: string[] = [];
  for (const each of wanted.length > 0 ? wanted : Object.keys(models)) {
    const [id = '', name = id] = each.split('=');
    const prices = catalogue.pricesOf(name);
    if (prices) chosen[id] = prices;
    else if (wanted.length === 0) absent.push(id);
    else throw new CommandMistake(`The catalogue has no prices of ${name}.${suggestName(name, catalogue.names)}`);
  }
  if (wanted.length === 0 && Object.keys(models).length === 0) {
    throw new CommandMistake('The prices file has no models yet. Name those to import by --model.');
  }
  return { models: chosen, absent };
}

/** Written beside it and renamed, so that a gateway never reads half of it. */
async function write(file: string, content: PricesFile): Promise<void> {
  const beside = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}`);
  try {
    await writeFile(beside, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o644 });
    await mistaken(() => readPrices({ file: beside }));
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    if (!isSystemError(error, 'EACCES', 'EROFS', 'ENOSPC', 'ENOENT')) throw error;
    throw new CommandFailure(`${sanitizeForTerminal(file)} cannot be written: ${(error as Error).message}`);
  }
}

async function mistaken<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PricesError ? new CommandMistake(error.message) : error;
  }
}
