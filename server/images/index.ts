/*
 * Image routes, and what the site needs of image requests. Other folders import these from here alone.
 */

export { imageFileRoutes } from './image-files.js';
export { imageGenerationRoutes } from './image-generations.js';
export { imageListRoutes } from './image-list.js';
export {
  decodeImage,
  MAX_WEBHOOK_URL_LENGTH,
  NAMED_SIZES,
  WEBHOOK_URL,
} from './image-request.js';
export { encodeImageJob, imageRoutes, isOpen, type JobAnswer } from './images.js';
