/*
 * Image routes, and what the site needs of image requests. Other folders import these from here alone.
 */

export { encodeImageJob, isOpen, type JobAnswer } from './image-answers.js';
export { imageGenerationRoutes } from './image-generations.js';
export { imageListRoutes } from './image-list.js';
export { decodeImage, IMAGE_ROUTE, NAMED_SIZES, shownImageModel } from './image-request.js';
export { imageFileRoutes, imageRoutes } from './images.js';
