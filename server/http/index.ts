export {
  createSiteAddress,
  describeLinks,
  describeListening,
  hasLocalLinks,
  localAddress,
  type SiteAddress,
} from './addresses.js';
export { type BodyReaderOptions, isForm, readForm, readJson, readJsonBody, takeJsonBody, useJsonBody } from './body.js';
export { BIG_BYTES, type BodyBudget, createBodyBudget, networkOwner } from './body-budget.js';
export {
  type AddressOf,
  createAddressLimit,
  createAddressOf,
  createFixedWindow,
  createFixedWindowLimiter,
  type FixedWindowLimiter,
  matcherOf,
  networkOfProxies,
} from './client-address.js';
export { drain } from './drain.js';
export {
  anthropicTypeOf,
  describeFailure,
  ERROR_CLASSES,
  type ErrorClass,
  type ErrorContext,
  encodeError,
  errorClassOf,
  MODEL_ERROR_CLASSES,
  SIGN_IN_INSTRUCTION,
  toGatewayError,
} from './error-format.js';
export { answerErrors } from './errors.js';
export { type AnswerHead, createHandOver, EVENTS, sendEvents, sendStream } from './event-stream.js';
export { App, addField, dispatch, type RoutedContext } from './fast-path.js';
export { type FormFields, fieldOf, knownMembers, memberError, missing, nameIgnored, requiredField } from './fields.js';
export { hasCurrentCopy, sendBytes, sendFile, sendGrowing } from './file-response.js';
export { type SoundForm, useSoundForm } from './form.js';
export { createHttpServer, type HttpServer, type HttpServerOptions } from './http-server.js';
export type { Next, ParamsContext, RequestContext, RequestState } from './koa-app.js';
export { newRouter } from './koa-app.js';
export {
  isOfPrograms,
  markVisits,
  readCookie,
  readReturnPath,
  removeCookie,
  seeOther,
  setCookie,
} from './pages.js';
export { clientSignal, logRequest, newRequestId, readPreferences, requestIdOf } from './request.js';
export { leaveWithClient, sendJson, sendTagged, sendText } from './response.js';
export { setPageHeaders, setSecurityHeaders } from './response-headers.js';
export {
  addRoutes,
  Count,
  defineRoute,
  type ErrorFormat,
  type Grant,
  type GuardOf,
  type Middleware,
  Nullable,
  OneOf,
  type Route,
  type RouteAnswer,
  type RouteBody,
  type RouteGrant,
  type SentWebhook,
  Text,
  Time,
  Url,
} from './route.js';
export {
  createPollGuard,
  createSemaphore,
  MAX_WAIT_SECONDS,
  type PollGuard,
  readWait,
  type Semaphore,
} from './waiting.js';
