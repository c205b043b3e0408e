/*
 * What each error code means, its usual cause and what the client can do, in English. The API reference,
 * `docs/reference/errors.md` and the pages of the site show these texts; answers have a message of their own. The type
 * requires a text for every code, so a new code does not compile without one. Whether a repetition may help is not
 * stated here: core declares it with the code (`isRetryable`). Texts of codes that concern a platform or a model vendor
 * are in source-error-texts.ts.
 */

import type { ErrorCode } from '../../core/runtime/index.js';
import { ASK_AGAIN, type ErrorText, SOURCE_ERROR_TEXTS, WAIT } from './source-error-texts.js';

const SEND_ANOTHER_IMAGE = 'Send another image: PNG, JPEG, WebP or GIF, at most 10 MB.';
const MAKE_KEY = 'Create another key on the dashboard, or ask the operator for one.';

/** Every error code. Whether a retry may help is declared in core (`isRetryable`). */
export const ERROR_TEXTS: Readonly<Record<ErrorCode, ErrorText>> = {
  // The client's request
  invalid_json: {
    meaning: 'The body is not valid JSON.',
    cause: 'A comma, quote or bracket is missing, or the body is not UTF-8.',
    action: 'Build the body with a JSON library.',
  },
  invalid_value: {
    meaning: 'A field has a value that is not accepted.',
    cause: 'The value has the wrong type, or it is out of range. `param` names the field.',
    action: 'Send what the message says is accepted.',
  },
  missing_required_parameter: {
    meaning: 'A required field is missing.',
    cause: 'The field was not sent, or it was null. `param` names it.',
    action: 'Add the field.',
  },
  unsupported_parameter: {
    meaning: 'A field is not supported.',
    cause: 'The route or the model does not know the field. `param` names it.',
    action: 'Leave the field out.',
  },
  unsupported_value: {
    meaning: 'The model, or the item of a link, does not support a value.',
    cause:
      'The model has fewer abilities than the request needs, such as input images or an effort; or the item has no file for `format`; or the key has a budget and a file in the request cannot be read, so its tokens cannot be estimated. `param` names the field.',
    action: 'Send another value, or choose another model.',
  },
  invalid_url: {
    meaning: 'The link is not an accepted address.',
    cause:
      'The link is not http or https, is longer than 2,048 characters, or has user information, a port, a backslash or look-alike letters in its host.',
    action: 'Send the link as the platform shares it.',
  },
  unsupported_platform: {
    meaning: 'The link belongs to no supported platform.',
    cause: 'The host is not one of those that `GET /v1/capabilities` lists.',
    action: 'Send a link of a supported platform.',
  },
  unsupported_link: {
    meaning: 'The link belongs to a supported platform, but leads to no item.',
    cause: 'The link leads to a profile, a search, a playlist or a shop. The message names what it leads to.',
    action: 'Send the link of one post, video or product.',
  },
  too_many_images: {
    meaning: 'The request asks for too many images, or has too many input images.',
    cause: '`n` or `items` is above 1, or there are more than 4 input images.',
    action: 'Send one request for each image, with at most 4 input images.',
  },
  invalid_image_url: {
    meaning: 'An input image has an address that is not accepted.',
    cause: 'The address is not https, or leads to a private network.',
    action: 'Send a public https link or a data URI.',
  },
  invalid_base64_image: {
    meaning: 'An input image is not valid base64.',
    cause: 'The data URI is damaged or has no `;base64,`.',
    action: 'Send `data:image/png;base64,` followed by standard base64.',
  },
  invalid_image: {
    meaning: 'An input image is damaged.',
    cause: 'The file is cut off or is not what its type says.',
    action: SEND_ANOTHER_IMAGE,
  },
  unsupported_image_media_type: {
    meaning: 'An input image has a format that is not accepted.',
    cause: 'The file is not a PNG, JPEG, WebP or GIF image.',
    action: 'Convert the image first.',
  },
  image_file_too_large: {
    meaning: 'The file of an input image is too large.',
    cause: 'The file is above 10 MB.',
    action: 'Send a smaller file.',
  },
  image_too_large: {
    meaning: 'An input image has too many pixels.',
    cause: 'The image has more pixels than the gateway decodes: 100 million, or fewer for some formats.',
    action: 'Send a smaller image.',
  },
  failed_to_download_image: {
    meaning: 'An input image could not be downloaded.',
    cause: 'The server of the image refused or did not answer.',
    action: 'Check that the link works without a login, or send the image as a data URI.',
  },
  model_not_supported: {
    meaning: 'The model exists, but not for this route.',
    cause: 'A text model was sent to an image route, or the like.',
    action: 'Choose a model of this kind: `GET /v1/models` lists all.',
  },
  invalid_idempotency_key: {
    meaning: 'The `Idempotency-Key` header is not accepted.',
    cause: 'The key is empty, too long, or has characters outside of visible ASCII.',
    action: 'Send a key such as a UUID.',
  },
  moderation_blocked: {
    meaning: 'The model refused the content of the request.',
    cause: 'Prompt or input images break the rules of the model vendor. `reason` has its words.',
    action: 'Change the prompt or the images.',
  },
  invalid_prompt: {
    meaning: 'The model refused the prompt.',
    cause: 'The prompt breaks the rules of the model vendor.',
    action: 'Change the prompt.',
  },
  content_filter: {
    meaning: "A content filter of the model's vendor stopped the request.",
    cause: 'The prompt or the answer matched a filter of the vendor.',
    action: 'Change the prompt.',
  },
  context_length_exceeded: {
    meaning: 'The request is too long for the model.',
    cause: 'The conversation and the requested output have more tokens than the model accepts.',
    action: 'Shorten the conversation, or choose a model with a longer context.',
  },
  previous_response_not_found: {
    meaning: 'The previous response of a conversation does not exist.',
    cause: '`previous_response_id` was not stored, has expired, or belongs to another account.',
    action: 'Send the whole conversation instead.',
  },
  bad_request: {
    meaning: 'The request is malformed, or ended early.',
    cause: 'The connection closed before the body was complete, or the HTTP framing is wrong.',
    action: 'Send the request again with a standard HTTP client.',
  },
  // Keys and grants
  missing_api_key: {
    meaning: 'The request has no API key.',
    cause: 'The header `Authorization: Bearer …` is missing.',
    action: 'Send an API key.',
  },
  invalid_api_key: {
    meaning: 'The API key does not exist.',
    cause: 'The key is mistyped, or belongs to another gateway.',
    action: 'Check the key. A key is shown only once, so a lost one cannot be read again.',
  },
  expired_api_key: {
    meaning: 'The API key has expired.',
    cause: 'The key had an expiry date.',
    action: MAKE_KEY,
  },
  revoked_api_key: {
    meaning: 'The API key was revoked.',
    cause: 'Its owner or the operator revoked it, or its rotation is over.',
    action: MAKE_KEY,
  },
  route_not_allowed: {
    meaning: 'The API key may not use this route.',
    cause: 'The key lacks the grant of the route, or the operator has disabled the route.',
    action: 'Use a key with the grant. The operator adds grants by plan or by key.',
  },
  model_not_allowed: {
    meaning: 'The plan of the API key does not include the model.',
    cause: 'The free tier and some plans have a list of models.',
    action: 'Choose a model that `GET /v1/models` lists for the key, or change the plan.',
  },
  vendor_id_not_allowed: {
    meaning: 'The request refers to something stored at the model vendor.',
    cause: 'An id of a file, prompt or conversation was sent, and the key lacks the grant `vendor_ids`.',
    action: 'Send the content itself.',
  },
  paid_tool_not_allowed: {
    meaning: 'The request uses a tool of the vendor that costs more than tokens.',
    cause:
      'The request chooses a hosted tool such as web search, or a tier, and the key, which has a plan or a budget, lacks the grant `paid_tools`.',
    action: 'Leave the tool out, or use your own function instead.',
  },
  ip_not_allowed: {
    meaning: 'The API key may not be used from this address.',
    cause: 'Reserved: no setting leads to it yet.',
    action: 'Ask the operator.',
  },
  account_suspended: {
    meaning: 'The account is suspended.',
    cause: 'The operator suspended it.',
    action: 'Ask the operator.',
  },
  // Signing in
  not_signed_in: {
    meaning: 'The route needs a signed-in user.',
    cause: 'There is no session, or it has ended.',
    action: 'Open `loginUrl` in a browser, or start the device flow.',
  },
  sign_in_failed: {
    meaning: 'The sign-in did not succeed.',
    cause: 'It was cancelled, took too long, or was finished in another browser.',
    action: 'Start again from the sign-in page.',
  },
  cross_site_request: {
    meaning: 'The request came from another site.',
    cause: 'The headers `Origin` or `Sec-Fetch-Site` are missing, or name another site.',
    action: 'Send the request from a page of the site. Programs use the device flow.',
  },
  // Bank-transfer webhooks
  invalid_signature: {
    meaning: 'The signature of a bank-transfer webhook is wrong.',
    cause: 'Another secret was used, or the clocks differ by more than 5 minutes.',
    action: 'Compare the secret at the payment provider with the setting, and set the clock.',
  },
  // Missing things
  model_not_found: {
    meaning: 'The model does not exist.',
    cause: 'The name is mistyped, or the operator has not connected the model.',
    action: 'Choose a model that `GET /v1/models` lists.',
  },
  job_not_found: {
    meaning: 'The job does not exist for this account.',
    cause: 'The id is mistyped, belongs to another account, or its storage time is over.',
    action: 'Check the id, or submit a new job.',
  },
  response_not_found: {
    meaning: 'The stored response does not exist for this account.',
    cause: 'It was made with `store: false`, was deleted, or belongs to another account.',
    action: 'Check the id.',
  },
  file_not_found: {
    meaning: 'The file does not exist.',
    cause: 'The name in the link was changed.',
    action: 'Use the link exactly as it was returned.',
  },
  route_not_found: {
    meaning: 'The address does not exist.',
    cause: 'The path is mistyped, or the operator has switched its part off.',
    action: 'Compare the path with the list of routes.',
  },
  account_not_found: {
    meaning: 'The account does not exist.',
    cause: 'Its id is mistyped, or it was erased.',
    action: 'Check the id.',
  },
  user_not_found: {
    meaning: 'The user does not exist.',
    cause: 'The id is mistyped, or the user was erased.',
    action: 'Check the id.',
  },
  key_not_found: {
    meaning: 'The API key does not exist in this account.',
    cause: 'Its id is mistyped, or belongs to another account.',
    action: 'List the keys of the account.',
  },
  order_not_found: {
    meaning: 'The order does not exist.',
    cause: 'Its code is mistyped, or belongs to another account.',
    action: 'Check the code.',
  },
  upgrade_not_supported: {
    meaning: 'The gateway does not speak WebSocket.',
    cause: 'The client asked for a WebSocket connection.',
    action: 'Send the request over HTTP, with `"stream": true` for a stream. Coding agents do this by themselves.',
  },
  format_not_supported: {
    meaning: 'The gateway cannot answer in this format.',
    cause: '`GET /v1/oembed` was asked for XML.',
    action: 'Ask for JSON: `format=json`, or no `format`.',
  },
  method_not_allowed: {
    meaning: 'The route exists, but not for this HTTP method.',
    cause: 'GET was sent in place of POST, or the like.',
    action: 'Use a method that the message names.',
  },
  link_expired: {
    meaning: 'The link of a file has expired.',
    cause: 'Links of MP3 files are valid for a limited time: see `expires_at`.',
    action: 'Extract the link again.',
  },
  file_expired: {
    meaning: 'The file was deleted after its storage time.',
    cause: 'Images are stored for a limited time: see `expires_at` of the job.',
    action: 'Create the image again, and download images soon after they are made.',
  },
  job_expired: {
    meaning: 'The job was deleted after its storage time.',
    cause: 'Reserved: such a job is reported as `job_not_found`.',
    action: 'Submit a new job.',
  },
  // Conflicts
  job_already_terminal: {
    meaning: 'The job has already ended.',
    cause: 'A job that has completed, failed or was cancelled cannot be cancelled.',
    action: 'Read its result.',
  },
  idempotency_in_progress: {
    meaning: 'The first request with this `Idempotency-Key` is still running.',
    cause: 'The client sent the request twice before the first answer.',
    action: WAIT,
  },
  idempotency_key_reused: {
    meaning: 'The `Idempotency-Key` was used for another request.',
    cause: 'The body differs from that of the first request.',
    action: 'Use a new key for each new request.',
  },
  price_not_configured: {
    meaning: 'The plan has no price.',
    cause: 'The operator sells the plan only through support.',
    action: 'Ask the support that the message names.',
  },
  too_many_open_orders: {
    meaning: 'The account has too many open orders.',
    cause: 'Earlier orders are neither paid nor cancelled.',
    action: 'Pay or cancel one of them.',
  },
  order_state_conflict: {
    meaning: 'The state of the order does not allow this.',
    cause: 'The order is paid, cancelled, expired or refunded.',
    action: 'Read the order, or create a new one.',
  },
  key_exists: {
    meaning: 'The account already has a valid API key.',
    cause: '`POST /api/user` creates only the first key.',
    action: 'Create further keys with `POST /api/user/keys`, or rotate the key.',
  },
  no_active_key: {
    meaning: 'The account has no valid API key.',
    cause: 'Pages of the site use a key of the account, and there is none.',
    action: 'Create a key on the dashboard.',
  },
  too_many_keys: {
    meaning: 'The account has the maximum number of API keys.',
    cause: 'An account has at most ten valid keys.',
    action: 'Revoke a key first.',
  },
  key_replaced: {
    meaning: 'The API key was already rotated.',
    cause: 'Two rotations of the same key were sent.',
    action: 'Rotate the newest key.',
  },
  // HTTP framing
  request_timeout: {
    meaning: 'The request did not arrive in time.',
    cause: 'The connection is slow, or the client stopped sending.',
    action: 'Send the request again.',
  },
  request_too_large: {
    meaning: 'The body is too large.',
    cause: 'The body is above the limit of the route, or has too many values or headers.',
    action: 'Send less.',
  },
  unsupported_media_type: {
    meaning: 'The body has a content type that the route does not accept.',
    cause: 'The header `Content-Type` is missing or wrong, or the body has a coding that is not accepted.',
    action: 'Send the content type that the message names; a compressed body as gzip, deflate, br or zstd.',
  },
  // Limits of this gateway
  rate_limit_exceeded: {
    meaning: 'A rate limit is used up.',
    cause: 'The key sent more requests in 60 seconds than it may, or an address sent too many.',
    action: WAIT,
  },
  daily_image_limit_reached: {
    meaning: 'The images of today are used up.',
    cause: 'The plan or the operator limits the images of a day (UTC).',
    action: 'Wait until midnight UTC, or change the plan.',
  },
  too_many_open_jobs: {
    meaning: 'The account has too many jobs that wait or run.',
    cause: 'One account may use a share of the queue.',
    action: 'Wait until some of the jobs have ended.',
  },
  insufficient_quota: {
    meaning:
      'A budget of the plan, key, account or group is used up or has ended, or a price is missing for a budget of money.',
    cause: '`GET /v1/usage` shows what is left.',
    action: 'Wait for the next period, buy a plan, or ask the operator for a larger budget.',
  },
  queue_full: {
    meaning: 'A queue of the gateway is full.',
    cause: 'Many clients send at the same time.',
    action: WAIT,
  },
  shutting_down: {
    meaning: 'This process of the gateway is shutting down.',
    cause: 'The operator restarts or upgrades it.',
    action: WAIT,
  },
  // Definitive refusals of an item, and failures of a platform or model vendor
  ...SOURCE_ERROR_TEXTS,
  upstream_auth_error: {
    meaning: 'The model vendor does not accept the credentials of this gateway.',
    cause: "The operator's key at the vendor is wrong, has expired, or has no credit.",
    action: 'Tell the operator, who checks the key of the provider.',
  },
  upstream_conflict: {
    meaning: 'The model vendor refused the request because it conflicts with another one.',
    cause:
      'Another request uses the same conversation, or its state has changed. `error.code` and the message are those of the vendor.',
    action: 'Wait for the other request to end, or change this one.',
  },
  upstream_unavailable: {
    meaning: 'Something that the gateway needs is unavailable.',
    cause: 'The database, the file storage or every upstream of a model does not answer.',
    action: ASK_AGAIN,
  },
  sign_in_unavailable: {
    meaning: 'The identity provider is unavailable.',
    cause: 'It does not answer, or the sign-in is not configured correctly.',
    action: 'Try again in a minute. The operator runs `mediagate doctor`.',
  },
  audio_unavailable: {
    meaning: 'The MP3 file cannot be made.',
    cause: 'The item has no audio, or the platform blocks access to its media.',
    action: 'Extract the link again, and use another media address of the document.',
  },
  audio_timeout: {
    meaning: 'The MP3 file could not be made in time.',
    cause: 'The platform sends the media slowly, or the item is very long.',
    action: 'Request the file again.',
  },
  // Internal
  plugin_unavailable: {
    meaning: 'The plugin that this needs is not ready.',
    cause: 'The plugin failed to load, or something is not installed, such as ffmpeg or a browser.',
    action: 'Tell the operator, who runs `mediagate doctor` and `mediagate plugins`.',
  },
  storage_error: {
    meaning: 'A file could not be stored or read.',
    cause: 'The disk or the object store failed, or a file is damaged.',
    action: ASK_AGAIN,
  },
  // Failed jobs
  queue_expired: {
    meaning: 'The job waited too long in the queue.',
    cause: 'The gateway is overloaded, or no worker runs.',
    action: 'Submit a new job with a new `Idempotency-Key`.',
  },
  job_timeout: {
    meaning: 'The job took too long.',
    cause: 'The platform or model vendor is slow.',
    action: 'Submit a new job with a new `Idempotency-Key`.',
  },
  cancelled: {
    meaning: 'The job was cancelled.',
    cause: 'The client, the revocation of its key, or the operator cancelled it.',
    action: 'Submit a new job if the result is still needed.',
  },
  interrupted: {
    meaning: 'The job was interrupted too often while it ran.',
    cause: 'The process that ran the job ended several times.',
    action: 'Submit a new job. If it happens again, tell the operator.',
  },
  internal_error: {
    meaning: 'The gateway failed in a way that it did not expect.',
    cause: 'An error of the gateway or of a plugin. The log has the details under the request id.',
    action: 'Tell the operator the request id.',
  },
};
