export { addImageFileRoutes, addImageGenerationRoute, createImageSubmitter } from './image-generations.js';
export {
  decodeImage,
  ImageBodySchema,
  ImageJobBodySchema,
  MAX_WEBHOOK_URL_LENGTH,
  NAMED_SIZES,
  WEBHOOK_URL,
} from './image-request.js';
export { addImageRoutes, encodeImageJob, isOpen, type JobAnswer } from './images.js';
