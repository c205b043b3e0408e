/** Answers are read as what they turn out to be: a member that is missing, or of another type, is not there. */
export function member(json: unknown, path: string): unknown {
  let value = json;
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  return value;
}

export function textAt(json: unknown, path: string): string | undefined {
  const value = member(json, path);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberAt(json: unknown, path: string): number | undefined {
  const value = member(json, path);
  return typeof value === 'number' ? value : undefined;
}

export function listAt(json: unknown, path: string): readonly unknown[] {
  const value = member(json, path);
  return Array.isArray(value) ? value : [];
}

export function textsAt(json: unknown, path: string): readonly string[] {
  return listAt(json, path).filter((value) => typeof value === 'string');
}
