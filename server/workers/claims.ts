/*
 * Work that one worker of a machine does for all of them, such as the fetch of a link. The supervisor knows who does
 * it: the first worker that claims a name has it, and the others wait until it is released. They get what it left, or
 * nothing if it ended before: then they claim again.
 */

import type { SupervisorMessage } from './messages.js';

/** A worker that can claim. */
export interface Claimant {
  send(message: SupervisorMessage): void;
}

interface Held {
  holder: Claimant;
  waiting: { claimant: Claimant; claim: number }[];
}

export class Claims {
  readonly #held = new Map<string, Held>();

  claim(claimant: Claimant, { claim, name }: { claim: number; name: string }): void {
    const held = this.#held.get(name);
    if (held) {
      held.waiting.push({ claimant, claim });
      return;
    }
    this.#held.set(name, { holder: claimant, waiting: [] });
    claimant.send({ type: 'claimed', claim, name, isMine: true });
  }

  /** Only who has a name can release it. */
  release(claimant: Claimant, { name, left }: { name: string; left?: unknown }): void {
    const held = this.#held.get(name);
    if (held?.holder !== claimant) return;
    this.#held.delete(name);
    for (const { claimant: waiting, claim } of held.waiting) {
      waiting.send({ type: 'claimed', claim, name, isMine: false, left });
    }
  }

  /** A worker has ended. */
  forget(claimant: Claimant): void {
    for (const [name, held] of this.#held) {
      held.waiting = held.waiting.filter((waiting) => waiting.claimant !== claimant);
      if (held.holder === claimant) this.release(claimant, { name });
    }
  }
}
