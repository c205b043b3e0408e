import { readFile } from 'node:fs/promises';
import path from 'node:path';
import Type, { type Static } from 'typebox';
import { EntryIdSchema, MAX_TIMEOUT_MS, TrustedOriginsSchema } from './entry-check.js';
import type { PluginEntry } from './gateway.js';
import { createValidator } from './validation.js';

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

/** A plugins.config.json that cannot be used. The message names the file and the member. */
export class PluginConfigError extends Error {
  override readonly name = 'PluginConfigError';
}

/**
 * Reads plugins.config.json. `{ "$env": "NAME" }` anywhere in `options` becomes that environment variable's value; where
 * it is not set the member is left out, so the plugin's own default holds. As `enabled` it means whether the variable is
 * set to anything, `{ "$not": { "$env": "NAME" } }` whether it is not, and `{ "$all": [ … ] }` whether all of these hold.
 * Relative `use` paths become absolute.
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
  return checked.value.plugins.map(({ enabled, ...entry }: Static<typeof EntrySchema>) => ({
    ...entry,
    use: entry.use.startsWith('.') ? path.resolve(folder, entry.use) : entry.use,
    ...(enabled !== undefined && { enabled: isEnabled(enabled, environment) }),
    ...(entry.options && { options: resolveEnvironment(entry.options, environment) as Record<string, unknown> }),
  }));
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

function isEnabled(
  enabled: NonNullable<Static<typeof EntrySchema>['enabled']>,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  if (typeof enabled === 'boolean') return enabled;
  if ('$all' in enabled) return enabled.$all.every((condition) => isEnabled(condition, environment));
  return '$not' in enabled ? !environment[enabled.$not.$env] : Boolean(environment[enabled.$env]);
}

function resolveEnvironment(value: unknown, environment: Readonly<Record<string, string | undefined>>): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => resolveEnvironment(item, environment)).filter((item) => item !== undefined);
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  if (members.length === 1 && members[0]?.[0] === '$env' && typeof members[0][1] === 'string') {
    return environment[members[0][1]] || undefined;
  }
  return Object.fromEntries(
    members
      .map(([name, member]) => [name, resolveEnvironment(member, environment)] as const)
      .filter(([, member]) => member !== undefined),
  );
}
