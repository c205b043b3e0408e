/** Says of another's beat, as it was just read, whether it has been the same for a whole lease. */
export type SilenceCheck = (id: string, beat: string) => boolean;

export interface Beats {
  /** One look at all others: asked once of each, before the next look. Who is no longer there is forgotten. */
  look(): SilenceCheck;
}

/** How long others have shown no life, by this process's own steady clock and while it could look. */
export function createBeats(leaseMs: number): Beats {
  /** Since when they have been the same. */
  let seen = new Map<string, { beat: string; since: number }>();
  let lookedAt = Number.NEGATIVE_INFINITY;

  return {
    look() {
      const now = performance.now();
      // Where this process could not look for so long (it was stopped, the database away), others may not have been able to
      // show life either.
      if (now - lookedAt >= leaseMs) seen.clear();
      lookedAt = now;
      const before = seen;
      seen = new Map();
      return (id, beat) => {
        const known = before.get(id);
        const since = known?.beat === beat ? known.since : now;
        if (now - since >= leaseMs) return true;
        seen.set(id, { beat, since });
        return false;
      };
    },
  };
}
