/*
 * What other folders may import of HTTP: the declaration of routes, readers of bodies within limits of size and memory,
 * answers whole or as a stream, errors in the formats of their routes, addresses of clients, the server and the app. It
 * knows no subject of the product.
 */

// Declares its error codes.
import './errors.js';

export {
  type AddressOf,
  createAddressOf,
  createSiteAddress,
  describeLinks,
  describeListening,
  hasLocalLinks,
  localAddress,
  matcherOf,
  networkOfProxies,
  plainAddress,
  type SiteAddress,
} from './addresses.js';
export {
  type BodyReaderOptions,
  type HeldBody,
  isForm,
  readForm,
  readJson,
  readJsonBody,
  takeJsonBody,
  useJsonBody,
} from './bodies/body.js';
export { BodyBudget, networkOwner } from './bodies/body-budget.js';
export {
  type AudioForm,
  type FormFields,
  type FormFile,
  fieldOf,
  isFileForm,
  missing,
  requiredField,
  useAudioForm,
  useFileForm,
} from './bodies/form.js';
export { allowOrigins } from './cors.js';
export {
  answerErrors,
  anthropicTypeOf,
  describeFailure,
  type ErrorContext,
  encodeError,
  errorClassFor,
  errorClassOf,
  SIGN_IN_INSTRUCTION,
  toGatewayError,
} from './error-response.js';
export {
  type AnswerHead,
  EVENTS,
  HandOver,
  JSON_TYPE,
  leaveWithClient,
  sendEvents,
  sendJson,
  sendStream,
  sendTagged,
  sendText,
  sendWhole,
} from './event-stream.js';
export { AnswerResponse, App, addField, dispatch, leaveUnanswered, type RoutedContext } from './fast-path.js';
export {
  type FileOptions,
  hasCurrentCopy,
  type ServedFile,
  sendBytes,
  sendFile,
  sendGrowing,
} from './file-response.js';
export { AddressLimit, FixedWindow, PollGuard } from './fixed-windows.js';
export { createHttpServer, drain, type HttpServer, type HttpServerOptions, takeUpgrade } from './http-server.js';
export { JOB_LIST_ERRORS, jobListQuery, jobListSchema, sendJobList } from './job-list.js';
export { type Next, newRouter, type ParamsContext, type RequestContext, type RequestState } from './koa-app.js';
export {
  markVisits,
  readCookie,
  readReturnPath,
  removeCookie,
  seeOther,
  setCookie,
  setPageHeaders,
} from './pages.js';
export {
  clientSignal,
  fieldError,
  knownFields,
  logRequest,
  MAX_WAIT_SECONDS,
  nameIgnored,
  newRequestId,
  paramOf,
  partOf,
  readPreferences,
  readWait,
  requestIdOf,
  routeNotFound,
  Semaphore,
  setSecurityHeaders,
  timeOfRequestId,
} from './request.js';
export {
  AnyObject,
  Attempts,
  addRoutes,
  Count,
  defineRoute,
  type ErrorFormat,
  Failure,
  type Grant,
  type GuardOf,
  type Middleware,
  Nullable,
  OneOf,
  type Route,
  type RouteAnswer,
  type RouteDeclaration,
  type SentWebhook,
  streamed,
  Text,
  Time,
  Url,
} from './route.js';
export {
  type CallAnswer,
  type CallOrigin,
  type CallRoute,
  callHandler,
  createCallRoute,
  FormBody,
  giveSource,
  type HandlerCall,
  innerKeyIdOf,
  type RouteCall,
  RouteFailure,
} from './route-call.js';
export type { ServerContext } from './server-context.js';
export { WebSocketConnection } from './web-socket.js';
export { MAX_WEBHOOK_URL_LENGTH, WEBHOOK_URL, webhookUrlField } from './webhook-url.js';
