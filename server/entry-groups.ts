import type { PluginStatus } from 'mediagate';

/** Entries of one plugin that fare alike: one model each, they are told as one. */
export interface EntryGroup extends PluginStatus {
  /** Ids of the entries; of one alone it is also `id`, of several that is the plugin's name. */
  entries: readonly string[];
}

/** In the order of the first of each. */
export function groupEntries(plugins: readonly PluginStatus[]): EntryGroup[] {
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
