import type { Usage } from '../../contracts/media.js';
import type { BackgroundCorrection } from '../../contracts/response-store.js';
import type { SlotAnswer, SlotRequest } from '../limits/windows.js';

/** One request of a model route that asks to be let in. */
export interface AdmissionRequest {
  keyId: string;
  accountId: string;
  /** Default: the key has no window. */
  slot?: SlotRequest;
  /** Default: the key has no budget. */
  reserve?: { budgetId: string; tokens: number };
  /** Template: `/v1/chat/completions`. */
  route: string;
  model: string;
}

export interface Admission {
  /** To be settled once. Undefined where there is no budget, whose request is then settled without. */
  reservation?: string;
  /** Where a slot was asked for. Not accepted: nothing was reserved either. */
  slot?: SlotAnswer;
}

/** How an admitted request ended: a row of the usage ledger. */
export interface Settlement {
  /**
   * Of the request, and not its caller's choice alone: settlements of the same id, key and time are one, and so are those of
   * the same reservation.
   */
  requestId: string;
  keyId: string;
  accountId: string;
  reservation?: string;
  route: string;
  model: string;
  /**
   * HTTP status of the answer; 499 where the client hung up before there was one. A failure without usage gives its request
   * back to the budget, unless it is 499.
   */
  status: number;
  /** Milliseconds from the request to the end of its answer. */
  latencyMs: number;
  /** Absent: nothing was used, as where the upstream refused. `estimated` travels in it. */
  usage?: Usage;
  /** What the upstream goes on making: `usage` is an estimate until {@link BackgroundResponses} hear more. */
  background?: { responseId: string; upstream: string; budgetId: string | null };
  /** Milliseconds since 1970, when it ended. */
  at: number;
}

/**
 * Lets requests of model routes in and writes down what they used. Window and budget are asked in one transaction, so that
 * parallel requests cannot overspend; what a request reserved is held until it is settled, or until the process that
 * admitted it is gone, and then it is settled as used to the last token (status 500, estimated, its tokens as output).
 */
export interface Admissions {
  /**
   * Resolves when the slot and the reservation survive the end of this process; on SQLite a power cut may forget those since
   * the last settlement was written, whose requests it has ended as well.
   * @throws GatewayError `insufficient_quota` where the budget does not hold that much, `upstream_unavailable` where the
   * database does not answer.
   */
  admit(request: AdmissionRequest): Promise<Admission>;
  /**
   * Takes it down; never throws and never waits. Written with others within 100 ms, again and again while the database is
   * away; beyond 100,000 the oldest without a reservation are counted together.
   */
  settle(settlement: Settlement): void;
  /**
   * Corrects what {@link Settlement.background} was counted by; never throws and never waits, as `settle`. Where it was
   * corrected for good before, or never was such, nothing changes.
   */
  correct(correction: BackgroundCorrection): void;
  /** Resolves when everything settled so far is durable. */
  flush(): Promise<void>;
  /** The same, or when the database has been away for 2.4 s. */
  flushInTime(): Promise<void>;
}
