/*
 * Declares error codes: one entry each says the HTTP status and type, whether a client may retry, and what the
 * documentation says. A folder declares the codes of its subject in its `errors.ts`, which adds them to the type
 * `ErrorCode`; importing that file registers them. The error encoder, the API description and the reference read `ERRORS`.
 * A code that is not declared does not reach a client.
 */

/** How an error code appears in an answer. */
export interface ErrorClass {
  /** HTTP status. */
  status: number;
  /** `error.type`: clients classify errors by it. */
  type: string;
  /** False if repeating the same request cannot help; SDKs receive it as `x-should-retry: false`. */
  shouldRetry?: false;
}

export interface ErrorDeclaration extends ErrorClass {
  /** Differences on model routes: their clients know these from the vendors. Default: none. */
  onModelRoutes?: ErrorClass;
  /** Whether a later retry may help. Default false. */
  retryable?: true;
  /** What clients read, if every error of the code says the same. */
  message?: string;
  /** The following are sentences of the documentation. */
  meaning: string;
  cause: string;
  action: string;
}

/** For the type `ErrorCode`: see `errors.ts` of any folder. */
export type DeclaredCodes<Table> = Record<keyof Table, true>;

/** Every declared code; `errors.ts` exports them with their type. */
export const declared: Record<string, ErrorDeclaration> = Object.create(null);
export const declaredCodes: string[] = [];

/** @throws Error if a code is declared twice. */
export function declareErrors<Table extends Readonly<Record<string, ErrorDeclaration>>>(table: Table): Table {
  for (const [code, declaration] of Object.entries(table)) {
    if (code in declared) throw new Error(`The error code ${code} is declared twice.`);
    declared[code] = declaration;
    declaredCodes.push(code);
  }
  return table;
}

export const BAD_REQUEST = { status: 400, type: 'invalid_request_error' } as const;
export const UNAUTHENTICATED = { status: 401, type: 'authentication_error' } as const;
export const FORBIDDEN = { status: 403, type: 'permission_error', shouldRetry: false } as const;
export const NOT_FOUND = { status: 404, type: 'not_found_error' } as const;
export const CONFLICT = { status: 409, type: 'conflict_error', shouldRetry: false } as const;
export const GONE = { status: 410, type: 'gone' } as const;
export const NOT_EXTRACTABLE = { status: 422, type: 'extraction_failed' } as const;
export const SOURCE_FAILED = { status: 502, type: 'source_failed' } as const;
export const SOURCE_TIMEOUT = { status: 504, type: 'source_timeout' } as const;
export const OVERLOADED = { status: 503, type: 'overloaded_error' } as const;

export const WAIT = 'Wait for the seconds in `Retry-After`, then send the request again.';
export const ASK_AGAIN = 'Send the request again later. If it keeps failing, tell the operator the request id.';
