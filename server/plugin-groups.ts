/*
 * Groups plugin instances that have the same plugin, state and reason, for lists that people read.
 */

import type { PluginStatus } from '../core/contracts/index.js';

/** Plugin instances with the same status: one per model, reported as a group. */
export interface PluginGroup extends PluginStatus {
  /** Ids of the instances; a single one is also `id`, for several that is the plugin's name. */
  entries: readonly string[];
}

/** Groups stand in the order of their first plugins. */
export function groupEntries(plugins: readonly PluginStatus[]): PluginGroup[] {
  const groups = Map.groupBy(plugins, ({ plugin, state, reason }) => JSON.stringify([plugin, state, reason]));
  return [...groups.values()].map((alike) => {
    const [first] = alike as [PluginStatus, ...PluginStatus[]];
    return {
      ...first,
      id: alike.length === 1 ? first.id : first.plugin,
      entries: alike.map(({ id }) => id),
      serves: alike.flatMap(({ serves }) => serves),
      required: alike.some(({ required }) => required),
    };
  });
}
