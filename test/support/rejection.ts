/** The error that a promise rejects with. */

import { expect } from 'chai';

/** The error a promise rejects with; fails the test where it resolves. */
export function rejection(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail('resolved, but was to reject'),
    (error: unknown) => error,
  );
}
