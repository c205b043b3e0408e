/*
 * `mediagate image` makes one image through a job, as the routes do, and prints the name of its file. The target is
 * checked before the image is made, and its extension selects the format. The process has one image worker and no
 * workers for extractions, since the jobs of a running server should be left to that server. Ctrl-C cancels the job. If
 * a finished image cannot be written, the error says where it is stored, because it may have been billed.
 */

import { access, constants, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Gateway } from 'mediagate';
import type { StoredBody } from '../../../core/contracts/index.js';
import type { FinishedImage, ImageJob } from '../../../core/images/index.js';
import { GatewayError } from '../../../core/runtime/index.js';
import { decodeImage, isOpen } from '../../images/index.js';
import type { Settings } from '../../settings/index.js';
import { openStateOf, type State } from '../../state.js';
import { INTERRUPTED_EXIT_CODE, startSpinner, using, withGateway, withLogger } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake, mistakeOf } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { makeImage } from './gateway-commands.js';

const ACCOUNT = 'local';
const POLL_MS = 500;
const OPTIONS = { size: '--size', model: '--model', image: '--ref', mask: '--mask' };

/** Makes one image through a job, as the routes do, and prints the name of its file. Ctrl-C cancels the job. */
export async function imageCommand(
  settings: Settings,
  prompt: string,
  options: OptionsOf<typeof makeImage>,
): Promise<Outcome> {
  const target = await readTarget(options.output);
  const body = {
    model: options.model,
    prompt,
    size: options.size,
    image: await Promise.all((options.ref ?? []).map((reference) => readReference(reference, '--ref'))),
    ...(options.mask !== undefined && { mask: await readReference(options.mask, '--mask') }),
    output_format: target.format,
  };
  const text = await withWorker(settings, (gateway) => make(gateway, settings, body, target));
  return text === undefined ? { exitCode: INTERRUPTED_EXIT_CODE } : { text };
}

/** A gateway with a worker, for the duration of `work`. */
function withWorker<Result>(settings: Settings, work: (gateway: Gateway) => Promise<Result>): Promise<Result> {
  // One worker: jobs of a running server should be left to that.
  const ownWorkers = { ...settings, extractWorkers: 0, imageWorkers: 1 };
  const quiet = true;
  const useState = ({ cache, files: storage, jobs }: State) =>
    withGateway(ownWorkers, work, {
      services: { cache, storage },
      jobs,
      baseUrl: () => settings.baseUrl ?? '',
      readOnly: false,
      quiet,
    });
  return withLogger(settings, async (logger) => using(await openStateOf(settings, logger), useState), { quiet });
}

/** The written file; undefined if the job was cancelled. */
async function make(
  { images }: Gateway,
  settings: Settings,
  body: Parameters<typeof decodeImage>[0],
  target: ImageTarget,
) {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new GatewayError('cancelled', 'The job was cancelled.'));
  const spinner = startSpinner('queued');
  process.once('SIGINT', interrupt);
  try {
    const request = decodeImage(body, { anySize: settings.anyImageSize });
    const submission = await images.submit({ ...request, owner: ACCOUNT });
    if (!('job' in submission)) throw new Error('a request without a rate limit was refused by one');
    let { job } = submission;
    while (isOpen(job)) {
      spinner?.update(describe(job));
      if (interrupted.signal.aborted) job = await images.cancel(job.id, ACCOUNT);
      else job = await images.wait(job.id, ACCOUNT, { timeoutMs: POLL_MS });
    }
    if (job.state === 'cancelled') return undefined;
    const content = job.image && (await images.content(job.image));
    if (!job.image || !content) throw new CommandFailure(reasonOf(job));
    const file = target.fileFor(job.image.name);
    await write(file, content, settings, job.image);
    return file;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw error.param === undefined ? new CommandFailure(error.message) : mistakeOf(error, OPTIONS);
  } finally {
    spinner?.stop();
    process.off('SIGINT', interrupt);
  }
}

/** An image that was made, and maybe billed, is kept even if the target cannot be written. @throws CommandFailure */
async function write(file: string, { body }: StoredBody, settings: Settings, image: FinishedImage): Promise<void> {
  try {
    await writeFile(file, body);
  } catch (error) {
    const { dataDir, imageFileHours } = settings;
    const target =
      image.source === 'local_cache' ? path.join(dataDir, 'files', image.name) : `${image.name} in the object store`;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(
      `The image was created, but ${file} could not be written: ${reason}. For ${imageFileHours} hours it is stored as ${target}.`,
    );
  }
}

function describe({ state, queuePosition, startedAt }: ImageJob): string {
  if (state === 'queued') return queuePosition === undefined ? 'queued' : `queued, number ${queuePosition}`;
  return `generating for ${Math.round((Date.now() - (startedAt ?? Date.now())) / 1000)} s`;
}

function reasonOf({ error }: ImageJob): string {
  if (!error) return 'The image no longer exists.';
  return error.reason === undefined ? error.message : `${error.message} (${error.reason})`;
}

/** A file becomes a data URI, as clients send it; its media type is ignored. */
async function readReference(reference: string, option: '--ref' | '--mask'): Promise<string> {
  if (/^https?:\/\//.test(reference)) return reference;
  const bytes = await readFile(reference).catch((cause: Error) => {
    throw new CommandMistake(`${option} ${reference} cannot be read: ${cause.message}`);
  });
  return `data:image/png;base64,${bytes.toString('base64')}`;
}

/** The requested format, from the extension of the target file. */
const FORMATS: Readonly<Record<string, string>> = { '.png': 'png', '.jpg': 'jpeg', '.jpeg': 'jpeg', '.webp': 'webp' };

/** Where an image is written. */
export interface ImageTarget {
  /** As `output_format` of the routes. Undefined: the default format. */
  format?: string;
  /** Path of the file. @param name Name of the image if the target is a folder. */
  fileFor(name: string): string;
}

/**
 * Checks the target of `--output` before the image is made: a file with the extension of one of the formats, or a
 * folder. Default: the working folder.
 * @throws CommandMistake
 */
export async function readTarget(output = '.'): Promise<ImageTarget> {
  const target = path.resolve(output);
  const isFolder = await checkTarget(target, output);
  if (isFolder || output.endsWith('/') || output.endsWith(path.sep)) {
    if (isFolder === undefined) throw new CommandMistake(`--output ${output}: there is no such folder.`);
    if (!isFolder) throw new CommandMistake(`--output ${output}: this is not a folder.`);
    await checkWritable(target, output);
    return { fileFor: (name) => path.join(target, name) };
  }
  const format = FORMATS[path.extname(target).toLowerCase()];
  if (format === undefined) {
    const endings = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(Object.keys(FORMATS));
    throw new CommandMistake(`--output ${output} must end in ${endings}, or be an existing folder.`);
  }
  const folder = path.dirname(target);
  if (!(await checkTarget(folder, output)))
    throw new CommandMistake(`--output ${output}: there is no folder ${folder}.`);
  await checkWritable(isFolder === undefined ? folder : target, output);
  return { format, fileFor: () => target };
}

/** Whether it is a folder; undefined if it does not exist. */
async function checkTarget(target: string, output: string): Promise<boolean | undefined> {
  try {
    return (await stat(target)).isDirectory();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CommandMistake(`--output ${output} cannot be read: ${message}.`);
  }
}

async function checkWritable(target: string, output: string): Promise<void> {
  try {
    await access(target, constants.W_OK);
  } catch {
    throw new CommandMistake(`--output ${output}: ${target} is not writable for this user.`);
  }
}
