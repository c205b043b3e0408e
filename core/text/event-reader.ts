import type { Usage } from '../contracts/index.js';
import type { GatewayError } from '../runtime/index.js';
import type { TextSample } from './text-sample.js';

/**
 * What becomes of an event: it goes on as it is, or does not, or goes on with another name of the model in it; or it tells of a
 * failure, in words that may not be for callers.
 */
export type Verdict = 'pass' | 'drop' | 'rename' | 'reword';

/** Understands the events of one route's streams, as far as the gateway has to. One for each stream. */
export interface EventReader {
  /**
   * Looks at the data of one event.
   * @throws SyntaxError where it is no JSON; the event is then nobody's concern.
   */
  read(bytes: Buffer, start: number, end: number): Verdict;
  /** After `rename`: where the text stands that names the model, its quotes included. The same object each time. */
  readonly modelName: Readonly<{ start: number; end: number }>;
  /** Whether the event was there that ends such a stream. */
  readonly ended: boolean;
  /** Whether it ended in an error of the upstream's. */
  readonly failed: boolean;
  readonly responseId: string | undefined;
  /** As far as the upstream reported it. */
  usage(): Usage | undefined;
  /** What the model has said. */
  said(): TextSample;
  /**
   * What is missing where the upstream closed a stream in good order, or after an error of its own; undefined where nothing is,
   * or where it is an end too early.
   */
  readonly closing: string | undefined;
  /** The event that ends a stream which broke off. */
  failure(error: GatewayError): string;
}
