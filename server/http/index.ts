export { createAddressLimit } from './address-limit.js';
export { addField } from './answer-response.js';
export { type AuthFailures, createAuthFailures, createFixedWindow } from './auth-failures.js';
export { type BodyReaderOptions, isForm, readForm, readJson, readJsonBody, takeJsonBody, useJsonBody } from './body.js';
export { BIG_BYTES, type BodyBudget, createBodyBudget, networkOwner } from './body-budget.js';
export { knownMembers, memberError } from './body-members.js';
export { type AddressOf, createAddressOf, matcherOf, networkOfProxies } from './client-address.js';
export { clientSignal } from './client-signal.js';
export { readCookie, removeCookie, setCookie } from './cookies.js';
export { dispatch, type RoutedContext } from './dispatch.js';
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
export { markAnthropic, markLinkData, markModel, markOauth } from './error-shapes.js';
export { answerErrors } from './errors.js';
export { EVENTS, sendEvents, sendStream } from './event-stream.js';
export { hasCurrentCopy, sendBytes, sendFile, sendGrowing } from './file-response.js';
export { type SoundForm, useSoundForm } from './form.js';
export { type FormFields, fieldOf, missing, requiredField } from './form-fields.js';
export { createHandOver } from './hand-over.js';
export { createHttpServer, type HttpServer, type HttpServerOptions } from './http-server.js';
export { nameIgnored } from './ignored-params.js';
export { App } from './koa-app.js';
export { describeLinks, describeListening, hasLocalLinks, localAddress } from './listening-address.js';
export { isOfPrograms, markPage, markVisits, seeOther } from './pages.js';
export { createPollGuard, type PollGuard } from './poll-guard.js';
export { readPreferences } from './preferences.js';
export { newRequestId, requestIdOf } from './request-id.js';
export { logRequest } from './request-log.js';
export type { Next, ParamsContext, RequestContext, RequestState } from './request-state.js';
export { setPageHeaders, setSecurityHeaders } from './response-headers.js';
export { readReturnPath } from './return-path.js';
export { newRouter } from './router.js';
export { createSiteAddress, type SiteAddress } from './site-address.js';
export { sendJson, sendTagged } from './tagged-answer.js';
export { leaveWithClient, sendText } from './text-response.js';
export { MAX_WAIT_SECONDS, readWait } from './wait-query.js';
export { createWaitingRoom, type WaitingRoom } from './waiting.js';
