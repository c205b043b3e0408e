/*
 * What other folders may import of images: the service of image jobs, its types, and the checks of input images.
 */

// Declares its error codes.
import './errors.js';
// Declares its kind of jobs.
import './image-jobs.js';

export { absentImages } from './absent-images.js';
export { isImageCharge } from './image-jobs.js';
export type { ImageRequest } from './image-run.js';
export {
  type ImageJob,
  ImageService,
  type ImageSubmission,
  type Images,
  type ImagesOptions,
} from './images.js';
export {
  type ImageJobSummary,
  MAX_REFERENCES,
  type ReferenceInput,
  References,
  removeInputImages,
  type StoredImageRequest,
} from './references.js';
export type { FinishedImage, ImageDelivery } from './result-files.js';
