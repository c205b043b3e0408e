export {
  absentImages,
  createImages,
  type FinishedImage,
  filesOfImageJob,
  type ImageDelivery,
  type ImageJob,
  type ImageJobSummary,
  type ImageRequest,
  type ImageService,
  type ImageSubmission,
  type Images,
  type ImagesOptions,
} from './images.js';
export { createReferences, MAX_REFERENCES, type ReferenceInput, removeInputImages } from './references.js';
