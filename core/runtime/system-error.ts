import { GatewayError } from './errors.js';

/** Whether it is an error of the system or of Node with one of these codes, e.g. `ENOENT`. */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/** Full, read-only or broken: conditions of a disk, which may pass. Anything else stays as it is. */
export function diskFailure(error: unknown): unknown {
  return isSystemError(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE')
    ? new GatewayError('upstream_unavailable', 'The file storage cannot be used now.', { cause: error })
    : error;
}

/** Whether there is a process of this id, whoever's it is. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM says that there is one, of another user.
    return !isSystemError(error, 'ESRCH');
  }
}
