/*
 * The tables by name. Each folder that owns tables adds their row types here, by declaration merging. Both engines
 * have the same tables; times are whole milliseconds.
 */

// biome-ignore lint/suspicious/noEmptyInterface: folders that own tables fill it
export interface Tables {}
