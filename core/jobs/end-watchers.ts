import type { EndWatcher, Serving } from './dispatcher.js';

/** Those in this process who want to be told of jobs that ended. */
export function createEndWatchers() {
  const watchers = new Set<EndWatcher>();
  return {
    add(watcher: EndWatcher): Serving {
      watchers.add(watcher);
      return {
        async stop() {
          watchers.delete(watcher);
        },
      };
    },
    ended(id: string): void {
      for (const watcher of watchers) watcher.ended(id);
    },
    missed(): void {
      for (const watcher of watchers) watcher.missed();
    },
    report(error: unknown): void {
      for (const watcher of watchers) watcher.report(error);
    },
  };
}
