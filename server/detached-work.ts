import { GatewayError } from 'mediagate';

/** For work whose client has left. */
const TIME_MS = 300_000;
/** Pieces of such work at the same time: no connection is left that would keep them few. */
const MOST = 64;

/** How long one piece of work may go on. */
export interface WorkLife {
  /** Aborts when it has gone on for long enough without its client. */
  readonly signal: AbortSignal;
  /** The work is done. */
  end(): void;
}

/** Work that does not end with its client, but is not for ever either. */
export type DetachedTimeout = (gone: AbortSignal) => WorkLife;

/** @param stopping Ends all of it. */
export function createDetachedTimeout(stopping: AbortSignal): DetachedTimeout {
  let unheard = 0;

  return (gone) => {
    const life = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const stop = () => life.abort(new GatewayError('upstream_timeout', 'Nobody waited for the answer any more.'));
    const leave = () => {
      if (unheard >= MOST) return stop();
      unheard += 1;
      timer = setTimeout(stop, TIME_MS);
    };
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
    return {
      signal: AbortSignal.any([life.signal, stopping]),
      end() {
        gone.removeEventListener('abort', leave);
        if (timer) unheard -= 1;
        clearTimeout(timer);
      },
    };
  };
}
