/**
 * Calls back when so many milliseconds have gone by, and what came meanwhile has been heard: a process that was itself held
 * up runs its timers before it reads the answers that have been waiting for it.
 * @returns ends the wait.
 */
export function startPatience(ms: number, isOver: () => void): () => void {
  let heard: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    heard = setImmediate(isOver);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(heard);
  };
}
