import { Type } from '../contracts/index.js';
import type { PluginEntry } from '../gateway.js';
import { createValidator } from '../runtime/index.js';

export const EntryIdSchema = Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$' });
export const TrustedOriginsSchema = Type.Array(Type.String({ pattern: '^https?://[^/?#@]+$' }));
/** Milliseconds. */
export const MAX_TIMEOUT_MS = 600_000;

const validator = createValidator(
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
  const checked = validator.check(entry);
  if (checked.ok) return;
  const [issue] = checked.issues;
  throw new Error(`${issue?.path} ${issue?.message}`);
}
