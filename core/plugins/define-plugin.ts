import type { Plugin, Schema } from '../contracts/index.js';

/** Gives a plugin its types: options from the schema flow into `setup`. Does nothing at run time. */
export function definePlugin<OptionsSchema extends Schema = Schema>(
  plugin: Plugin<OptionsSchema>,
): Plugin<OptionsSchema> {
  return plugin;
}
