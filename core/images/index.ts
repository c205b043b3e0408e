export type { Images } from './images.js';
export { absentImages, createImages, type ImageService, type ImagesOptions } from './images.js';
export { createReferences } from './references.js';
