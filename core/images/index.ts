export { absentImages } from './absent-images.js';
export type { Images } from './image-jobs.js';
export { createImages, type ImagesOptions } from './images.js';
export { createReferences, MAX_REFERENCES, type ReferenceInput } from './references.js';
