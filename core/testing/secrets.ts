import { inspect } from 'node:util';

/** Which secrets show in what somebody else may get to see, one line each. */
export function shownSecrets(secrets: readonly string[], seen: unknown): string[] {
  const text = inspect(seen, { depth: 20, maxStringLength: null, maxArrayLength: null });
  return secrets.flatMap((secret, index) =>
    text.includes(secret) ? [`secret ${index + 1} shows in the result, the error or the log`] : [],
  );
}
