export { openCache } from './cache.js';
export { copyWithDigest, digestOf, type FileDigest } from './digest-copy.js';
export { isWhole, readRange } from './file-checks.js';
export { readTrailer, type Trailer } from './file-trailer.js';
export { type Files, type FilesSettings, openFiles } from './files.js';
export { FILE_NAME } from './files-disk.js';
export { syncFolder } from './folder-sync.js';
export { createMemoryCache } from './memory-cache.js';
export { SECRET_BYTES, SECRET_NAME } from './secrets.js';
