/*
 * What other folders may import of storage: opening the cache and the files, tables with a bound, reading stored files, copies with a
 * digest, and the secrets of the data folder.
 */

export { boundedTable } from './bounded-table.js';
export { cacheMigrations, openCache } from './cache.js';
export { type Files, openFiles } from './files.js';
export { FILE_NAME, isWhole, readRange, readTrailer, type Trailer } from './files-disk.js';
export { copyWithDigest, digestOf, type FileDigest, syncFolder } from './folders.js';
export { createMemoryCache } from './memory-cache.js';
export { loadSecret, mendSecrets, SECRET_BYTES, SECRET_NAME, secretsOfOthers } from './secrets.js';
