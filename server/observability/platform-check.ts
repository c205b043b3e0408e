import type { PlatformInfo, TransientCode } from 'mediagate';

export interface PlatformsCheck {
  /** False where a platform is out. */
  ok: boolean;
  entries: readonly PlatformCheck[];
}

export interface PlatformCheck {
  /** Platform key. */
  key: string;
  /** False where every rung that this gateway could use rests: most links of the platform fail until one is rested. */
  ok: boolean;
  /** Why each rung rests, and for how many seconds still. */
  resting: readonly { rung: string; code: TransientCode; seconds: number }[];
}

/** A rung that rests is worth knowing and no more; a platform without any rung left is out. */
export function checkPlatforms(platforms: readonly Pick<PlatformInfo, 'key' | 'rungs'>[]): PlatformsCheck {
  const entries = platforms.map(({ key, rungs }) => ({
    key,
    ok: rungs.length === 0 || rungs.some(({ available, rest }) => available && !rest),
    resting: rungs.flatMap(({ name, rest }) => (rest ? [{ rung: name, ...rest }] : [])),
  }));
  return { ok: entries.every(({ ok }) => ok), entries };
}
