import { GatewayError } from 'mediagate';

/** Retry-After for detached work. */
const TIME_MS = 300_000;
/** Maximum concurrent detached work: no open connections limit it. */
const MAX = 64;

/** Maximum duration of detached work. */
export interface WorkLife {
  /** Aborts when the work has exceeded the time without its client. */
  readonly signal: AbortSignal;
  /** The work has ended. */
  end(): void;
}

/** Work that continues after its client has disconnected, with limits. */
export type DetachedTimeout = (gone: AbortSignal) => WorkLife;

/** @param stopping Ends all of it. */
export function createDetachedTimeout(stopping: AbortSignal): DetachedTimeout {
  let unobserved = 0;

  return (gone) => {
    const life = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const stop = () => life.abort(new GatewayError('upstream_timeout', 'Nobody waited for the answer any more.'));
    const leave = () => {
      if (unobserved >= MAX) return stop();
      unobserved += 1;
      timer = setTimeout(stop, TIME_MS);
    };
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
    return {
      signal: AbortSignal.any([life.signal, stopping]),
      end() {
        gone.removeEventListener('abort', leave);
        if (timer) unobserved -= 1;
        clearTimeout(timer);
      },
    };
  };
}
