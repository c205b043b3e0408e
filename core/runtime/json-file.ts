/*
 * Reads JSON files that operators write, such as plans, prices and plugins. Each error names the file, and is of the
 * class that the caller gives.
 */

import { readFile } from 'node:fs/promises';
import type { Validator } from './validation.js';

type Failure = new (message: string, options?: ErrorOptions) => Error;

/** @param advice A sentence that names the setting of the file. */
export async function readTextFile(file: string, advice: string, failure: Failure): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new failure(`${file} cannot be read. ${advice}`, { cause });
  }
}

/** @param text The content of the file. */
export function parseJsonFile(text: string, file: string, failure: Failure): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new failure(`${file} is not JSON: ${cause instanceof Error ? cause.message : cause}.`, { cause });
  }
}

/** Reads and checks a file. */
export async function readJsonFile<Value>(
  file: string,
  { validator, advice, failure }: { validator: Validator<Value>; advice: string; failure: Failure },
): Promise<Value> {
  const checked = validator.check(parseJsonFile(await readTextFile(file, advice, failure), file, failure));
  if (checked.ok) return checked.value;
  const [issue] = checked.issues;
  throw new failure(`${file}: ${issue?.path || 'the file'} ${issue?.message ?? 'is not valid'}.`);
}
