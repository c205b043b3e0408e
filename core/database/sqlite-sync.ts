import { CompiledQuery } from './kysely.js';

/** What SQLite writes from here on reaches the disk when the operating system likes. */
export const SYNC_LATER = CompiledQuery.raw('pragma synchronous = normal');

/** It reaches the disk before its writer goes on, and whatever was written before with it. */
export const SYNC_ALWAYS = CompiledQuery.raw('pragma synchronous = full');
