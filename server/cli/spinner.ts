import { createSpinner } from 'nanospinner';

export interface Spinner {
  update(text: string): void;
  stop(): void;
}

/**
 * Shows on standard error that something is under way; undefined where nobody looks on. A terminal of no width, which a
 * container may have, counts as nobody: the package divides by it and never comes back.
 */
export function startSpinner(text: string): Spinner | undefined {
  const stream = process.stderr;
  if (!stream.isTTY || !stream.columns) return undefined;
  const spinner = createSpinner(text, { stream }).start();
  return { update: (next) => void spinner.update({ text: next }), stop: () => void spinner.stop() };
}
