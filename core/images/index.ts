/*
 * What other folders may import of images: the service of image jobs, its types, and the checks of input images.
 */

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
