import type { ParameterizedContext } from 'koa';
import type { ApiKeyRecord, ErrorCode } from 'mediagate';

/** What middleware leaves for those after it, as `ctx.state`. */
export interface RequestState {
  requestId: string;
  /** The key that was shown, once it is known to be good. */
  key?: ApiKeyRecord;
  /** Set on link-data routes: their errors name the link. */
  link?: { inputUrl?: string };
  /** The image that this request waited for in vain. */
  imageJob?: { id: string; failed: boolean };
  /** Code of the error that was answered, for the log line. */
  errorCode?: ErrorCode;
}

export type RequestContext = ParameterizedContext<RequestState>;
export type Next = () => Promise<unknown>;
