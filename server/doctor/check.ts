/** One line of `mediagate doctor`. */
export interface Finding {
  name: string;
  /** `warn`: something is missing that not everybody needs; `fail`: the gateway will not work. */
  level: 'ok' | 'warn' | 'fail';
  detail: string;
  /** What to do about it. */
  advice?: string;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
