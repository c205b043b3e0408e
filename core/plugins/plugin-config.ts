/*
 * Reads plugins.config.json and imports the plugins that it names. Variables in `options` are replaced by their
 * values, and the entry records which variable each option came from, so errors can name it. An entry with `models`
 * becomes one entry per model, which loads and fails by itself. Fallback entries are decided from the entries alone,
 * so a fallback does not hide the failure of a better one. Errors name the file and the field. An import has 10
 * seconds and must have a plugin of contract version 1 as its default export.
 */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type EntryVariables,
  type ModelAlias,
  type ModelPrices,
  ModelPricesSchema,
  type Plugin,
  type PluginEntry,
  type Schema,
  type Static,
  Type,
} from '../contracts/index.js';
import { createValidator, parseJsonFile, readTextFile, withDeadline } from '../runtime/index.js';
import { describeThrown } from './plugin-failure.js';

export const EntryIdSchema = Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$' });
const ServesSchema = Type.Array(Type.String({ minLength: 1 }), { minItems: 1 });
export const TrustedOriginsSchema = Type.Array(Type.String({ pattern: '^https?://[^/?#@]+$' }));
/** Milliseconds. */
export const MAX_TIMEOUT_MS = 600_000;

const entryIdValidator = createValidator(
  Type.Object({
    id: Type.Optional(EntryIdSchema),
    enabled: Type.Optional(Type.Boolean()),
    serves: Type.Optional(ServesSchema),
    fallback: Type.Optional(Type.Boolean()),
    required: Type.Optional(Type.Boolean()),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TIMEOUT_MS })),
    trustedOrigins: Type.Optional(TrustedOriginsSchema),
    prices: Type.Optional(Type.Record(Type.String(), ModelPricesSchema)),
  }),
);

/**
 * Checks an entry that a program created like one of the configuration file.
 * @throws Error naming the field.
 */
export function checkEntry({ use: _use, options, ...entry }: PluginEntry): void {
  const checked = entryIdValidator.check(entry);
  const [issue] = checked.ok ? [] : checked.issues;
  if (issue) throw new Error(`${issue.path} ${issue.message}`);
  if (entry.fallback && servesOf({ ...entry, options }).length === 0) {
    throw new Error('fallback needs "serves", the list of its models');
  }
}

/**
 * Entries that are used in place of this fallback, the best first: entries that serve one of its models and are no
 * fallbacks, then earlier fallbacks that do. Only the entries are read, not the plugins, so that a fallback does not
 * hide the failure of a better entry.
 */
export function entriesBefore(fallback: PluginEntry, entries: readonly PluginEntry[]): PluginEntry[] {
  if (!fallback.fallback) return [];
  const wanted = servesOf(fallback);
  const sharesModel = (entry: PluginEntry) =>
    [...servesOf(entry), ...(entry.aliases ?? []).map(({ name }) => name)].some((model) => wanted.includes(model));
  const isFallback = (entry: PluginEntry) => entry.fallback === true;
  return [
    ...entries.filter((entry) => !isFallback(entry)),
    ...entries.slice(0, entries.indexOf(fallback)).filter(isFallback),
  ].filter(sharesModel);
}

/**
 * Names that an entry serves, known before its plugin is loaded: `serves`, or the models of the option `models`, which
 * is a list of objects with `id` or a text of names separated by commas. An entry that is not checked yet may contain
 * anything.
 */
export function servesOf({ serves, options }: Pick<PluginEntry, 'serves' | 'options'>): readonly string[] {
  if (Array.isArray(serves)) return serves;
  const models = options?.models;
  if (typeof models === 'string') return models.split(/[,\s]+/).filter((name) => name !== '');
  return Array.isArray(models) ? models.map((model: { id?: unknown } | null) => model?.id).filter(isText) : [];
}

/**
 * The aliases of entries, with the ids that they stand for. The first entry with a name has it.
 * @param all Entries that are used, in the order of the configuration, and the ids of their models.
 */
export function resolveAliases(
  all: readonly { aliases?: readonly ModelAlias[]; served: readonly string[] }[],
): Map<string, string> {
  const ids = new Set(all.flatMap(({ served }) => served));
  const found = new Map<string, string>();
  for (const { aliases = [], served } of all) {
    for (const { name, of } of aliases) {
      const id = of !== undefined && served.includes(of) ? of : served[0];
      if (id !== undefined && !ids.has(name) && !found.has(name)) found.set(name, id);
    }
  }
  return found;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

const strict = { additionalProperties: false } as const;

const VariableSchema = Type.Object({ $env: Type.String({ minLength: 1 }) }, strict);
const AliasNameSchema = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Object({ $env: Type.String({ minLength: 1 }), $default: Type.Optional(Type.String({ minLength: 1 })) }, strict),
]);
const AliasesSchema = Type.Array(
  Type.Union([AliasNameSchema, Type.Object({ name: AliasNameSchema, of: Type.Optional(AliasNameSchema) }, strict)]),
);
/** A sentence for people. */
const DescriptionSchema = Type.String({ minLength: 1, maxLength: 300, pattern: '^[^\\p{C}]*$' });
const OptionsSchema = Type.Record(Type.String(), Type.Unknown());

const EntrySchema = Type.Object(
  {
    id: Type.Optional(EntryIdSchema),
    use: Type.String({ minLength: 1 }),
    options: Type.Optional(OptionsSchema),
    models: Type.Optional(
      Type.Array(
        Type.Object(
          {
            id: EntryIdSchema,
            options: Type.Optional(OptionsSchema),
            aliases: Type.Optional(AliasesSchema),
            description: Type.Optional(DescriptionSchema),
            prices: Type.Optional(ModelPricesSchema),
          },
          strict,
        ),
        { minItems: 1 },
      ),
    ),
    serves: Type.Optional(ServesSchema),
    aliases: Type.Optional(AliasesSchema),
    fallback: Type.Optional(Type.Boolean()),
    enabled: Type.Optional(Type.Union([Type.Boolean(), VariableSchema])),
    required: Type.Optional(Type.Boolean()),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: MAX_TIMEOUT_MS })),
    trustedOrigins: Type.Optional(TrustedOriginsSchema),
  },
  strict,
);

const ConfigSchema = Type.Object({ $schema: Type.Optional(Type.String()), plugins: Type.Array(EntrySchema) }, strict);

const validator = createValidator(ConfigSchema);

/**
 * An invalid plugins.config.json, where the message names the file and the field; or a required entry that failed,
 * where it names the entry.
 */
export class PluginConfigError extends Error {
  override readonly name = 'PluginConfigError';
}

/**
 * Reads plugins.config.json. `{ "$env": "NAME" }` anywhere in `options` becomes that environment variable's value; if
 * it is not set, it becomes `$default`, and without that the field is omitted, so the plugin's own default applies. A
 * list of names becomes the values of all that are set, separated by commas. As `enabled` it means whether the variable
 * is set. An entry with `models` becomes one entry for each of them. `prices` and `description` of a model, also in the
 * option `models`, are in `prices` and `descriptions` of its entry. Relative `use` paths become absolute. Entries that
 * name variables list them in `variables`.
 * @throws PluginConfigError
 */
export async function readPluginConfig(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<PluginEntry[]> {
  const advice = 'Set PLUGINS_CONFIG to the file of plugin instances.';
  return parsePluginConfig(await readTextFile(file, advice, PluginConfigError), file, environment);
}

/**
 * As {@link readPluginConfig}, for the text of the file.
 * @throws PluginConfigError
 */
export function parsePluginConfig(
  text: string,
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): PluginEntry[] {
  const config = parseJsonFile(text, file, PluginConfigError);
  const checked = validator.check(config);
  if (!checked.ok) {
    const { path: field = '', message = 'is not valid' } = checked.issues[0] ?? {};
    const [enabled] = /^plugins\.\d+\.enabled/.exec(field) ?? [];
    if (enabled !== undefined) throw new PluginConfigError(`${file}: ${enabled} ${ENABLED_ADVICE}`);
    throw new PluginConfigError(`${file}: ${field || 'the file'} ${message}.`);
  }
  const folder = path.dirname(path.resolve(file));
  return checked.value.plugins.flatMap((entry, index) => {
    const reason = whyContradictory(entry);
    if (reason !== undefined) throw new PluginConfigError(`${file}: plugins.${index} ${reason}.`);
    const where = `${file}: plugins.${index}.options`;
    return expandModels(entry).map((one) => resolveEntry(takeWords(one, where), environment, folder));
  });
}

const ENABLED_ADVICE =
  'must be true, false or { "$env": "NAME" }; "$not" and "$all" do not exist. An instance that is used only while others ' +
  'do not serve its models has "fallback": true, and both list these models in "models" or "serves".';

type FileEntry = Static<typeof EntrySchema>;
type OneEntry = Omit<FileEntry, 'models'> & Pick<PluginEntry, 'descriptions' | 'prices'>;

function whyContradictory({ id, models, serves, fallback, options }: FileEntry): string | undefined {
  if (models && id !== undefined) return 'has "id" beside "models": each model is an entry with its own id';
  if (models && serves) return 'has "serves" beside "models", whose ids already list them';
  if (fallback && !models && !serves && options?.models === undefined)
    return 'is a "fallback" and must list its models in "models" or "serves"';
  return undefined;
}

/** One entry for each model, which loads, fails and is listed by itself. */
function expandModels({ models, ...entry }: FileEntry): OneEntry[] {
  if (!models) return [entry];
  return models.map(({ id, options, aliases, description, prices }) => ({
    ...entry,
    ...(aliases && { aliases }),
    id,
    serves: [id],
    options: { ...entry.options, ...options },
    ...(description !== undefined && { descriptions: { [id]: description } }),
    ...(prices && { prices: { [id]: prices } }),
  }));
}

/** What each model in the option `models` may have for the gateway: it is of no use to the plugin. */
const ModelWordsSchema = Type.Object({
  prices: Type.Optional(ModelPricesSchema),
  description: Type.Optional(DescriptionSchema),
});
const wordsValidator = createValidator(ModelWordsSchema);

/**
 * Moves `prices` and `description` of each model in the option `models` to the entry.
 * @throws PluginConfigError
 */
function takeWords({ options, ...entry }: OneEntry, where: string): OneEntry {
  if (!options || !Array.isArray(options.models)) return { ...entry, ...(options && { options }) };
  const ofModels: Record<string, ModelPrices> = {};
  const wordsOfModels: Record<string, string> = {};
  const models = options.models.map((model: unknown, index) => {
    if (typeof model !== 'object' || model === null) return model;
    const { prices, description, ...rest } = model as Record<string, unknown>;
    const checked = wordsValidator.check({
      ...(prices !== undefined && { prices }),
      ...(description !== undefined && { description }),
    });
    if (!checked.ok) {
      const [issue] = checked.issues;
      throw new PluginConfigError(`${where}.models.${index}.${issue?.path} ${issue?.message ?? 'is not valid'}.`);
    }
    if (!isText(rest.id)) return rest;
    if (checked.value.prices) ofModels[rest.id] = checked.value.prices;
    if (checked.value.description !== undefined) wordsOfModels[rest.id] = checked.value.description;
    return rest;
  });
  const prices = { ...ofModels, ...entry.prices };
  const descriptions = { ...wordsOfModels, ...entry.descriptions };
  return {
    ...entry,
    options: { ...options, models },
    ...(Object.keys(prices).length > 0 && { prices }),
    ...(Object.keys(descriptions).length > 0 && { descriptions }),
  };
}

function resolveEntry(
  { enabled, options, aliases, ...entry }: OneEntry,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): PluginEntry {
  const enabledBy = typeof enabled === 'object' ? enabled.$env : undefined;
  const names = new Set(enabledBy === undefined ? [] : [enabledBy]);
  const ofOptions: Record<string, string> = {};
  const ofUnset: Record<string, string> = {};
  /** An item that is omitted from a list leaves its path to the next one. */
  const read = (name: string, where: readonly string[]) => {
    names.add(name);
    const value = environment[name] || undefined;
    const mapping = value === undefined ? ofUnset : ofOptions;
    mapping[where.join('.')] = name;
    return value;
  };
  const resolved = options && (substitute(options, read, []) as Record<string, unknown>);
  const named = aliases?.flatMap((alias) => aliasOf(alias, (name) => read(name, ['aliases'])));
  const variables: EntryVariables = {
    names: [...names],
    ofOptions,
    ...(Object.keys(ofUnset).length > 0 && { ofUnset }),
    ...(enabledBy !== undefined && { enabledBy }),
  };
  return {
    ...entry,
    use: entry.use.startsWith('.') ? path.resolve(folder, entry.use) : entry.use,
    ...(enabled !== undefined && {
      enabled: typeof enabled === 'object' ? Boolean(environment[enabled.$env]) : enabled,
    }),
    ...(resolved && { options: resolved }),
    ...(named && { aliases: named }),
    ...(names.size > 0 && { variables }),
  };
}

type FileAlias = Static<typeof AliasesSchema>[number];

/** Empty if the name is that of a variable that is not set. */
function aliasOf(alias: FileAlias, read: (name: string) => string | undefined): ModelAlias[] {
  if (typeof alias === 'object' && 'name' in alias) {
    const [{ name: of } = { name: undefined }] = alias.of === undefined ? [] : aliasOf(alias.of, read);
    return aliasOf(alias.name, read).map(({ name }) => ({ name, ...(of !== undefined && { of }) }));
  }
  const name = typeof alias === 'string' ? alias : (read(alias.$env) ?? alias.$default);
  return name === undefined ? [] : [{ name }];
}

function substitute(
  value: unknown,
  read: (name: string, where: readonly string[]) => string | undefined,
  where: readonly string[],
): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) {
      // The next item takes the index of an omitted one.
      const substituted = substitute(item, read, [...where, String(items.length)]);
      if (substituted !== undefined) items.push(substituted);
    }
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value);
  const { $env: variable, $default: fallback } = value as Readonly<Record<string, unknown>>;
  const isVariable = fields.every(([name]) => name === '$env' || name === '$default');
  if (isVariable && typeof variable === 'string') return read(variable, where) ?? fallback;
  if (isVariable && Array.isArray(variable) && variable.every(isText)) {
    // The last one that is read is the one that messages name.
    const values = variable.toReversed().map((name) => read(name, where));
    return values.filter(isText).reverse().join(',') || fallback;
  }
  return Object.fromEntries(
    fields
      .map(([name, field]) => [name, substitute(field, read, [...where, name])] as const)
      .filter(([, field]) => field !== undefined),
  );
}

/** Types a plugin: the schema determines the type of the options in `setup`. No effect at run time. */
export function definePlugin<OptionsSchema extends Schema = Schema>(
  plugin: Plugin<OptionsSchema>,
): Plugin<OptionsSchema> {
  return plugin;
}

const IMPORT_MS = 10_000;

/**
 * A plugin, or the default export of a module that is given by its path or package name.
 * @throws Error that says what is wrong with it: it throws, takes more than 10 s, or is no plugin of this version.
 */
export async function importPlugin(use: Plugin | string, baseFolder: string): Promise<Plugin> {
  const candidate = typeof use === 'string' ? await importDefault(use, baseFolder) : use;
  if (!isPlugin(candidate)) {
    throw new Error('its default export is not a plugin (name, apiVersion, summary, provides, setup)');
  }
  if (candidate.apiVersion !== 1) {
    throw new Error(`it has version ${candidate.apiVersion} of the plugin contract; this gateway needs version 1`);
  }
  return candidate;
}

async function importDefault(use: string, baseFolder: string): Promise<unknown> {
  const location = locate(use, baseFolder);
  const late = new Error(`its import did not finish within ${IMPORT_MS / 1000} s: a top-level await does not end`);
  try {
    const module: { default?: unknown } = await withDeadline(IMPORT_MS, () => import(location), { error: () => late });
    return module.default;
  } catch (thrown) {
    if (thrown === late || isLoaderError(thrown)) throw thrown;
    const message = thrown instanceof Error ? thrown.message : describeThrown(thrown);
    throw new Error(`it threw when it was imported: ${message}`, { cause: thrown });
  }
}

/** Of Node's loader; its message says what is wrong. */
function isLoaderError(thrown: unknown): boolean {
  const { code } = Object(thrown) as { code?: unknown };
  return thrown instanceof SyntaxError || /^(?:ERR_|MODULE_NOT_FOUND)/.test(String(code));
}

/**
 * The location of a module: this package's own plugins by their public name, others relative to the configuration's
 * folder.
 */
function locate(use: string, baseFolder: string): string {
  if (path.isAbsolute(use) || use.startsWith('.')) {
    const modulePath = path.resolve(baseFolder, use);
    const inFolder = path.join(modulePath, 'index.js');
    return pathToFileURL(existsSync(inFolder) ? inFolder : modulePath).href;
  }
  if (use.startsWith('mediagate/')) return use;
  return pathToFileURL(createRequire(path.join(baseFolder, 'plugins.config.json')).resolve(use)).href;
}

function isPlugin(candidate: unknown): candidate is Plugin {
  if (typeof candidate !== 'object' || candidate === null) return false;
  const plugin = candidate as Partial<Plugin>;
  return (
    typeof plugin.name === 'string' &&
    typeof plugin.apiVersion === 'number' &&
    typeof plugin.summary === 'string' &&
    Array.isArray(plugin.provides) &&
    typeof plugin.setup === 'function'
  );
}
