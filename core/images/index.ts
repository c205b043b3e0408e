export { absentImages, createImages, type ImageService, type Images, type ImagesOptions } from './images.js';
export { createReferences } from './references.js';
