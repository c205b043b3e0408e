/**
 * The tables, by their names. Each folder that owns tables adds their row types here, by declaration merging. All engines have
 * the same; times are whole milliseconds.
 */
// biome-ignore lint/suspicious/noEmptyInterface: folders that own tables fill it
export interface Tables {}
