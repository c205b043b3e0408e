export { addImageFileRoutes } from './image-files.js';
export { addImageGenerationRoute } from './image-generations.js';
export { encodeImageJob, isOpen, type JobAnswer } from './image-job.js';
export {
  decodeImage,
  ImageBodySchema,
  ImageJobBodySchema,
  MAX_WEBHOOK_URL_LENGTH,
  NAMED_SIZES,
  WEBHOOK_URL,
} from './image-request.js';
export { createImageSubmitter } from './image-submission.js';
export { addImageRoutes } from './images.js';
