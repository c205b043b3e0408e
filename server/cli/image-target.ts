import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { CommandMistake } from './output.js';

/** What the model is asked for, by the ending of the file that is wanted. */
const FORMATS: Readonly<Record<string, string>> = { '.png': 'png', '.jpg': 'jpeg', '.jpeg': 'jpeg', '.webp': 'webp' };

/** Where a picture is to be written. */
export interface ImageTarget {
  /** As `output_format` of the routes. Undefined: whatever is made by default. */
  format?: string;
  /** The file. @param name What the picture is called where the target names no file. */
  fileFor(name: string): string;
}

/**
 * Looks at the target of `--output` before anything is made for it: a file that ends in one of the formats, or a folder.
 * Default: the working folder.
 * @throws CommandMistake
 */
export async function readTarget(output = '.'): Promise<ImageTarget> {
  const target = path.resolve(output);
  const isFolder = await lookAt(target, output);
  if (isFolder || output.endsWith('/') || output.endsWith(path.sep)) {
    if (isFolder === undefined) throw new CommandMistake(`--output ${output}: there is no such folder.`);
    if (!isFolder) throw new CommandMistake(`--output ${output}: this is no folder.`);
    await checkWritable(target, output);
    return { fileFor: (name) => path.join(target, name) };
  }
  const format = FORMATS[path.extname(target).toLowerCase()];
  if (format === undefined) {
    const endings = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(Object.keys(FORMATS));
    throw new CommandMistake(`--output ${output} must end in ${endings}, or be a folder that is there.`);
  }
  const folder = path.dirname(target);
  if (!(await lookAt(folder, output))) throw new CommandMistake(`--output ${output}: there is no folder ${folder}.`);
  await checkWritable(isFolder === undefined ? folder : target, output);
  return { format, fileFor: () => target };
}

/** Whether it is a folder; undefined where nothing is there. */
async function lookAt(place: string, output: string): Promise<boolean | undefined> {
  try {
    return (await stat(place)).isDirectory();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CommandMistake(`--output ${output} cannot be looked at: ${message}.`);
  }
}

async function checkWritable(place: string, output: string): Promise<void> {
  try {
    await access(place, constants.W_OK);
  } catch {
    throw new CommandMistake(`--output ${output}: ${place} may not be written by this user.`);
  }
}
