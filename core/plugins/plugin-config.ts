import { readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  type EntryVariables,
  type Plugin,
  type PluginEntry,
  type Schema,
  type Static,
  Type,
} from '../contracts/index.js';
import { createValidator } from '../runtime/index.js';

export const EntryIdSchema = Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$' });
export const TrustedOriginsSchema = Type.Array(Type.String({ pattern: '^https?://[^/?#@]+$' }));
/** Milliseconds. */
export const MAX_TIMEOUT_MS = 600_000;

const entryIdValidator = createValidator(
  Type.Object({
    id: Type.Optional(EntryIdSchema),
    enabled: Type.Optional(Type.Boolean()),
    required: Type.Optional(Type.Boolean()),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TIMEOUT_MS })),
    trustedOrigins: Type.Optional(TrustedOriginsSchema),
  }),
);

/**
 * Holds an entry that a program has made to what the configuration's file is held to.
 * @throws Error naming the member.
 */
export function checkEntry({ use: _use, options: _options, ...entry }: PluginEntry): void {
  const checked = entryIdValidator.check(entry);
  if (checked.ok) return;
  const [issue] = checked.issues;
  throw new Error(`${issue?.path} ${issue?.message}`);
}

const strict = { additionalProperties: false } as const;

const VariableSchema = Type.Object({ $env: Type.String({ minLength: 1 }) }, strict);
const ConditionSchema = Type.Union([VariableSchema, Type.Object({ $not: VariableSchema }, strict)]);

const EntrySchema = Type.Object(
  {
    id: Type.Optional(EntryIdSchema),
    use: Type.String({ minLength: 1 }),
    options: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    enabled: Type.Optional(
      Type.Union([
        Type.Boolean(),
        ConditionSchema,
        Type.Object({ $all: Type.Array(ConditionSchema, { minItems: 1 }) }, strict),
      ]),
    ),
    required: Type.Optional(Type.Boolean()),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: MAX_TIMEOUT_MS })),
    trustedOrigins: Type.Optional(TrustedOriginsSchema),
  },
  strict,
);

const ConfigSchema = Type.Object({ $schema: Type.Optional(Type.String()), plugins: Type.Array(EntrySchema) }, strict);

const validator = createValidator(ConfigSchema);

/**
 * A plugins.config.json that cannot be used, where the message names the file and the member; or an entry that is required and
 * cannot be had, where it names the entry.
 */
export class PluginConfigError extends Error {
  override readonly name = 'PluginConfigError';
}

/**
 * Reads plugins.config.json. `{ "$env": "NAME" }` anywhere in `options` becomes that environment variable's value; where
 * it is not set the member is left out, so the plugin's own default holds. As `enabled` it means whether the variable is
 * set to anything, `{ "$not": { "$env": "NAME" } }` whether it is not, and `{ "$all": [ … ] }` whether all of these hold.
 * Relative `use` paths become absolute. Entries that name variables say which in `variables`.
 * @throws PluginConfigError
 */
export async function readPluginConfig(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<PluginEntry[]> {
  const config = await readJson(file);
  const checked = validator.check(config);
  if (!checked.ok) {
    const issue = checked.issues[0];
    throw new PluginConfigError(`${file}: ${issue?.path || 'the file'} ${issue?.message ?? 'is not valid'}.`);
  }
  const folder = path.dirname(path.resolve(file));
  return checked.value.plugins.map((entry) => resolveEntry(entry, environment, folder));
}

function resolveEntry(
  { enabled, options, ...entry }: Static<typeof EntrySchema>,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): PluginEntry {
  const names = new Set(conditionsOf(enabled).map(({ name }) => name));
  const ofOptions: Record<string, string> = {};
  /** Of a member that is left out there is no path, but its variable is one of the entry's all the same. */
  const read = (name: string, where: readonly string[]) => {
    names.add(name);
    const value = environment[name] || undefined;
    if (value !== undefined) ofOptions[where.join('.')] = name;
    return value;
  };
  const resolved = options && (substitute(options, read, []) as Record<string, unknown>);
  const switchOff = conditionsOf(enabled).flatMap(({ name, isSet }) => (isSet ? [] : [name]));
  const variables: EntryVariables = { names: [...names], ofOptions, switchOff };
  return {
    ...entry,
    use: entry.use.startsWith('.') ? path.resolve(folder, entry.use) : entry.use,
    ...(enabled !== undefined && { enabled: isEnabled(enabled, environment) }),
    ...(resolved && { options: resolved }),
    ...(names.size > 0 && { variables }),
  };
}

async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new PluginConfigError(`${file} cannot be read. PLUGINS_CONFIG names the file of plugin entries.`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PluginConfigError(`${file} is not JSON: ${cause instanceof Error ? cause.message : cause}.`, { cause });
  }
}

type Enabled = NonNullable<Static<typeof EntrySchema>['enabled']>;

/** Variables that `enabled` names, and whether they have to be set or not. */
function conditionsOf(enabled: Enabled | undefined): { name: string; isSet: boolean }[] {
  if (enabled === undefined || typeof enabled === 'boolean') return [];
  if ('$all' in enabled) return enabled.$all.flatMap(conditionsOf);
  return '$not' in enabled ? [{ name: enabled.$not.$env, isSet: false }] : [{ name: enabled.$env, isSet: true }];
}

function isEnabled(enabled: Enabled, environment: Readonly<Record<string, string | undefined>>): boolean {
  if (typeof enabled === 'boolean') return enabled;
  if ('$all' in enabled) return enabled.$all.every((condition) => isEnabled(condition, environment));
  return '$not' in enabled ? !environment[enabled.$not.$env] : Boolean(environment[enabled.$env]);
}

function substitute(
  value: unknown,
  read: (name: string, where: readonly string[]) => string | undefined,
  where: readonly string[],
): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) {
      // An item that is left out gives its place to the next one.
      const substituted = substitute(item, read, [...where, String(items.length)]);
      if (substituted !== undefined) items.push(substituted);
    }
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  if (members.length === 1 && members[0]?.[0] === '$env' && typeof members[0][1] === 'string') {
    return read(members[0][1], where);
  }
  return Object.fromEntries(
    members
      .map(([name, member]) => [name, substitute(member, read, [...where, name])] as const)
      .filter(([, member]) => member !== undefined),
  );
}

/** Gives a plugin its types: options from the schema flow into `setup`. Does nothing at run time. */
export function definePlugin<OptionsSchema extends Schema = Schema>(
  plugin: Plugin<OptionsSchema>,
): Plugin<OptionsSchema> {
  return plugin;
}
