import { inspect } from 'node:util';

/** Secrets that appear in what others may read, one line each. */
export function leakedSecrets(secrets: readonly string[], seen: unknown): string[] {
  const text = inspect(seen, { depth: 20, maxStringLength: null, maxArrayLength: null });
  return secrets.flatMap((secret, index) =>
    text.includes(secret) ? [`secret ${index + 1} shows in the result, the error or the log`] : [],
  );
}
