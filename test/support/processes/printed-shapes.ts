/** Compares what commands print with `--json` with the shapes that they declare. */

import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js';
import * as shapes from '../../../server/cli/json-shapes.js';
import { COMMANDS } from '../../../server/cli/program.js';

/** By name. */
export const SHAPES: ReadonlyMap<string, object> = new Map(Object.entries(shapes));

const ajv = new Ajv2020({ strict: false });

/** @throws Error if the output has other fields than its command declares. */
export function checkPrinted(given: readonly string[], stdout: string): void {
  // With `--server` a command prints what it prints on the machine itself.
  const args = given.slice(given.findIndex((_, index) => index % 2 === 0 && !given[index]?.startsWith('--')));
  if (!args.includes('--json') || stdout === '') return;
  const named = COMMANDS.find(({ name }) => args.join(' ').startsWith(`${name} `));
  const shape = (named ?? COMMANDS.find(({ name, isDefault }) => isDefault && name.startsWith(`${args[0]} `)))?.shape;
  if (shape === undefined) throw new Error(`${args.join(' ')} prints JSON, but declares no shape`);
  const validate = ajv.getSchema(shape) ?? ajv.addSchema(closed(SHAPES.get(shape) as object), shape).getSchema(shape);
  if (validate?.(JSON.parse(stdout))) return;
  throw new Error(`${args.join(' ')} printed no ${shape}: ${ajv.errorsText(validate?.errors)}\n${stdout}`);
}

/** A copy that accepts no fields beside the described ones. */
function closed(schema: object): AnySchema {
  return JSON.parse(JSON.stringify(schema), (_, value) => {
    const isDescribed = value?.type === 'object' && Object.keys(value.properties ?? {}).length > 0;
    return isDescribed ? { ...value, additionalProperties: false } : value;
  });
}
