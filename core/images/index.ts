export {
  absentImages,
  createImages,
  filesOfImageJob,
  type ImageService,
  type Images,
  type ImagesOptions,
} from './images.js';
export { createReferences } from './references.js';
