import path from 'node:path';
import { isGatewayError, PluginConfigError } from 'mediagate';
import { PlansFileError } from '../plans/index.js';
import { type Settings, SettingsError } from '../settings/index.js';

/** A failure to start in words for the person at the terminal; `exitCode` 2 means "fix the settings". */
export interface StartFailure {
  message: string;
  exitCode: 1 | 2;
}

/** Undefined where the failure is none that a person could have caused: then the stack is worth showing. */
export function describeStartFailure(error: unknown, settings?: Settings): StartFailure | undefined {
  if (error instanceof SettingsError)
    return { message: `The settings are not usable:\n${indent(error.message)}`, exitCode: 2 };
  if (error instanceof PluginConfigError || error instanceof PlansFileError)
    return { message: error.message, exitCode: 2 };
  if (isGatewayError(error)) return { message: error.message, exitCode: error.code === 'invalid_value' ? 2 : 1 };
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const file = error instanceof Error && 'path' in error ? String(error.path) : settings?.dataDir;
  switch (code) {
    case 'EADDRINUSE':
      return {
        message: `Port ${settings?.port} of ${settings?.host} is taken by another program. Set PORT to another one.`,
        exitCode: 1,
      };
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return { message: `HOST ${settings?.host} is not an address of this machine.`, exitCode: 2 };
    case 'EACCES':
    case 'EPERM':
      if (error instanceof Error && 'syscall' in error && error.syscall === 'listen') {
        return {
          message: `Port ${settings?.port} may not be listened on by this user. Set PORT to 1024 or above.`,
          exitCode: 1,
        };
      }
      return { message: `${file} may not be written by this user. DATA_DIR names the data folder.`, exitCode: 1 };
    case 'EROFS':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'ENOENT':
      return {
        message: `${file} cannot be used as or in the data folder (${code}). DATA_DIR names the data folder.`,
        exitCode: 1,
      };
    case 'ENOSPC':
      return {
        message: `There is no space left on the disk of ${settings?.dataDir ?? path.resolve('data')}.`,
        exitCode: 1,
      };
    default:
      return undefined;
  }
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}
