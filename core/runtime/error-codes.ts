/*
 * Error codes that several folders throw: of requests, of models and their upstreams, and of the gateway itself. A code
 * of one subject is declared there, such as `core/jobs/errors.ts`.
 */

import {
  ASK_AGAIN,
  BAD_REQUEST,
  CONFLICT,
  type DeclaredCodes,
  declareErrors,
  NOT_FOUND,
  OVERLOADED,
  SOURCE_FAILED,
  WAIT,
} from './error-declarations.js';

declare module './errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof commonErrors> {}
}

const SEND_ANOTHER_IMAGE = 'Send another image: PNG, JPEG, WebP or GIF, at most 10 MB.';

const commonErrors = declareErrors({
  invalid_json: {
    ...BAD_REQUEST,
    meaning: 'The body is not valid JSON.',
    cause: 'A comma, quote or bracket is missing, or the body is not UTF-8.',
    action: 'Build the body with a JSON library.',
  },
  invalid_value: {
    ...BAD_REQUEST,
    meaning: 'A field has a value that is not accepted.',
    cause: 'The value has the wrong type, or it is out of range. `param` names the field.',
    action: 'Send what the message says is accepted.',
  },
  missing_required_parameter: {
    ...BAD_REQUEST,
    meaning: 'A required field is missing.',
    cause: 'The field was not sent, or it was null. `param` names it.',
    action: 'Add the field.',
  },
  unsupported_parameter: {
    ...BAD_REQUEST,
    meaning: 'A field is not supported.',
    cause: 'The route or the model does not know the field. `param` names it.',
    action: 'Leave the field out.',
  },
  unsupported_value: {
    ...BAD_REQUEST,
    meaning: 'The model, or the item of a link, does not support a value.',
    cause:
      'The model has fewer abilities than the request needs, such as input images or an effort; or the item has no file for `format`; or the key has a budget and a file in the request cannot be read, so its tokens cannot be estimated. `param` names the field.',
    action: 'Send another value, or choose another model.',
  },
  too_many_images: {
    ...BAD_REQUEST,
    meaning: 'The request asks for too many images, or has too many input images.',
    cause: '`n` or `items` is above 1, or there are more than 4 input images.',
    action: 'Send one request for each image, with at most 4 input images.',
  },
  invalid_image_url: {
    ...BAD_REQUEST,
    meaning: 'An input image has an address that is not accepted.',
    cause: 'The address is not https, or leads to a private network.',
    action: 'Send a public https link or a data URI.',
  },
  invalid_base64_image: {
    ...BAD_REQUEST,
    meaning: 'An input image is not valid base64.',
    cause: 'The data URI is damaged or has no `;base64,`.',
    action: 'Send `data:image/png;base64,` followed by standard base64.',
  },
  invalid_image: {
    ...BAD_REQUEST,
    meaning: 'An input image is damaged.',
    cause: 'The file is cut off or is not what its type says.',
    action: SEND_ANOTHER_IMAGE,
  },
  unsupported_image_media_type: {
    ...BAD_REQUEST,
    meaning: 'An input image has a format that is not accepted.',
    cause: 'The file is not a PNG, JPEG, WebP or GIF image.',
    action: 'Convert the image first.',
  },
  image_file_too_large: {
    ...BAD_REQUEST,
    meaning: 'The file of an input image is too large.',
    cause: 'The file is above 10 MB.',
    action: 'Send a smaller file.',
  },
  image_too_large: {
    ...BAD_REQUEST,
    meaning: 'An input image has too many pixels.',
    cause: 'The image has more pixels than the gateway decodes: 100 million, or fewer for some formats.',
    action: 'Send a smaller image.',
  },
  failed_to_download_image: {
    ...BAD_REQUEST,
    retryable: true,
    meaning: 'An input image could not be downloaded.',
    cause: 'The server of the image refused or did not answer.',
    action: 'Check that the link works without a login, or send the image as a data URI.',
  },
  model_not_supported: {
    ...BAD_REQUEST,
    meaning: 'The model exists, but not for this route.',
    cause: 'A text model was sent to an image route, or the like.',
    action: 'Choose a model of this kind: `GET /v1/models` lists all.',
  },
  moderation_blocked: {
    status: 400,
    type: 'image_generation_user_error',
    meaning: 'The model refused the content of the request.',
    cause: 'Prompt or input images break the rules of the model vendor. `reason` has its words.',
    action: 'Change the prompt or the images.',
  },
  invalid_prompt: {
    ...BAD_REQUEST,
    meaning: 'The model refused the prompt.',
    cause: 'The prompt breaks the rules of the model vendor.',
    action: 'Change the prompt.',
  },
  content_filter: {
    ...BAD_REQUEST,
    meaning: "A content filter of the model's vendor stopped the request.",
    cause: 'The prompt or the answer matched a filter of the vendor.',
    action: 'Change the prompt.',
  },
  context_length_exceeded: {
    ...BAD_REQUEST,
    meaning: 'The request is too long for the model.',
    cause: 'The conversation and the requested output have more tokens than the model accepts.',
    action: 'Shorten the conversation, or choose a model with a longer context.',
  },
  previous_response_not_found: {
    ...BAD_REQUEST,
    meaning: 'The previous response of a conversation does not exist.',
    cause: '`previous_response_id` was not stored, has expired, or belongs to another account.',
    action: 'Send the whole conversation instead.',
  },
  bad_request: {
    ...BAD_REQUEST,
    meaning: 'The request is malformed, or ended early.',
    cause: 'The connection closed before the body was complete, or the HTTP framing is wrong.',
    action: 'Send the request again with a standard HTTP client.',
  },
  model_not_found: {
    ...NOT_FOUND,
    meaning: 'The model does not exist.',
    cause: 'The name is mistyped, or the operator has not connected the model.',
    action: 'Choose a model that `GET /v1/models` lists.',
  },
  response_not_found: {
    ...NOT_FOUND,
    meaning: 'The stored response does not exist for this account.',
    cause: 'It was made with `store: false`, was deleted, or belongs to another account.',
    action: 'Check the id.',
  },
  file_not_found: {
    ...NOT_FOUND,
    meaning: 'The file does not exist.',
    cause: 'The name in the link was changed.',
    action: 'Use the link exactly as it was returned.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    meaning: 'The body is too large.',
    cause: 'The body is above the limit of the route, or has too many values or headers.',
    action: 'Send less.',
  },
  queue_full: {
    ...OVERLOADED,
    retryable: true,
    meaning: 'A queue of the gateway is full.',
    cause: 'Many clients send at the same time.',
    action: WAIT,
  },
  shutting_down: {
    ...OVERLOADED,
    retryable: true,
    meaning: 'This process of the gateway is shutting down.',
    cause: 'The operator restarts or upgrades it.',
    action: WAIT,
  },
  upstream_auth_error: {
    ...SOURCE_FAILED,
    onModelRoutes: { status: 502, type: 'server_error' },
    meaning: 'The model vendor does not accept the credentials of this gateway.',
    cause: "The operator's key at the vendor is wrong, has expired, or has no credit.",
    action: 'Tell the operator, who checks the key of the provider.',
  },
  upstream_conflict: {
    ...CONFLICT,
    meaning: 'The model vendor refused the request because it conflicts with another one.',
    cause:
      'Another request uses the same conversation, or its state has changed. `error.code` and the message are those of the vendor.',
    action: 'Wait for the other request to end, or change this one.',
  },
  upstream_unavailable: {
    ...OVERLOADED,
    retryable: true,
    meaning: 'Something that the gateway needs is unavailable.',
    cause: 'The database, the file storage or every upstream of a model does not answer.',
    action: ASK_AGAIN,
  },
  audio_unavailable: {
    ...SOURCE_FAILED,
    retryable: true,
    meaning: 'The MP3 file cannot be made.',
    cause: 'The item has no audio, or the platform blocks access to its media.',
    action: 'Extract the link again, and use another media address of the document.',
  },
  plugin_unavailable: {
    ...OVERLOADED,
    retryable: true,
    meaning: 'The plugin that this needs is not ready.',
    cause: 'The plugin failed to load, or something is not installed, such as ffmpeg or a browser.',
    action: 'Tell the operator, who runs `mediagate doctor` and `mediagate plugins`.',
  },
  storage_error: {
    status: 500,
    type: 'server_error',
    retryable: true,
    meaning: 'A file could not be stored or read.',
    cause: 'The disk or the object store failed, or a file is damaged.',
    action: ASK_AGAIN,
  },
  internal_error: {
    status: 500,
    type: 'server_error',
    meaning: 'The gateway failed in a way that it did not expect.',
    cause: 'An error of the gateway or of a plugin. The log has the details under the request id.',
    action: 'Tell the operator the request id.',
  },
});
