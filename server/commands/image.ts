import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Gateway, GatewayError, type ImageJob, type Logger } from 'mediagate';
import { openGateway } from '../open-gateway.js';
import { openStateOf } from '../open-state.js';
import type { Settings } from '../settings.js';
import { isOpen } from '../wire/image-job.js';
import { decodeImage } from '../wire/image-request.js';
import { openCommandLogger } from './command-logger.js';
import { CommandFailure, print } from './output.js';
import { startSpinner } from './spinner.js';

export interface ImageFlags {
  model: string;
  size?: string;
  /** Files or https links of input images. */
  ref?: readonly string[];
  /** Where to write the picture. Default: in this folder, under the name of its file. */
  output?: string;
}

const ACCOUNT = 'local';
const LOOK_MS = 500;
const INTERRUPTED_EXIT_CODE = 130;
/** What the vendor is asked for, by the ending of the file that is wanted. */
const FORMATS: Readonly<Record<string, string>> = { '.png': 'png', '.jpg': 'jpeg', '.jpeg': 'jpeg', '.webp': 'webp' };

/** Makes one picture through a job, as the routes do, and prints the name of its file. Ctrl-C cancels the job. */
export async function imageCommand(settings: Settings, prompt: string, flags: ImageFlags): Promise<number> {
  const body = {
    model: flags.model,
    prompt,
    size: flags.size,
    image: await Promise.all((flags.ref ?? []).map(readReference)),
    output_format: flags.output && FORMATS[path.extname(flags.output).toLowerCase()],
  };
  const logger = openCommandLogger(settings);
  try {
    return await withGateway(settings, logger, (gateway) => make(gateway, settings, { body, output: flags.output }));
  } finally {
    await logger.close();
  }
}

async function withGateway<Result>(
  settings: Settings,
  logger: Logger,
  work: (gateway: Gateway) => Promise<Result>,
): Promise<Result> {
  const state = await openStateOf(settings, logger);
  try {
    const gateway = await openGateway({
      // One worker: jobs of a server beside it are better left to that.
      settings: { ...settings, extractWorkers: 0, imageWorkers: 1 },
      environment: process.env,
      logger,
      services: { cache: state.cache, storage: state.files },
      jobs: state.jobs,
      baseUrl: () => settings.baseUrl ?? '',
    });
    try {
      return await work(gateway);
    } finally {
      await gateway.close();
    }
  } finally {
    await state.close();
  }
}

interface Order {
  body: Readonly<Record<string, unknown>>;
  output: string | undefined;
}

async function make({ images }: Gateway, settings: Settings, { body, output }: Order): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new GatewayError('cancelled', 'The job was cancelled.'));
  const spinner = startSpinner('queued');
  process.once('SIGINT', interrupt);
  try {
    const request = decodeImage(body, { anySize: settings.anyImageSize });
    const submission = await images.submit({ ...request, accountId: ACCOUNT });
    if (!('job' in submission)) throw new Error('a request without a slot was refused for want of one');
    let { job } = submission;
    while (isOpen(job)) {
      spinner?.update(describe(job));
      if (interrupted.signal.aborted) job = await images.cancel(job.id, ACCOUNT);
      else job = await images.wait(job.id, ACCOUNT, { timeoutMs: LOOK_MS });
    }
    if (job.state === 'cancelled') return INTERRUPTED_EXIT_CODE;
    const picture = job.image && (await images.content(job.image));
    if (!job.image || !picture) throw new CommandFailure(reasonOf(job));
    const file = path.resolve(output ?? job.image.name);
    await writeFile(file, picture.body);
    spinner?.stop();
    print(`${file}\n`);
    return 0;
  } catch (error) {
    if (error instanceof GatewayError) throw new CommandFailure(error.message, error.param === undefined ? 1 : 2);
    throw error;
  } finally {
    spinner?.stop();
    process.off('SIGINT', interrupt);
  }
}

function describe({ state, queuePosition, startedAt }: ImageJob): string {
  if (state === 'queued') return queuePosition === undefined ? 'queued' : `queued, number ${queuePosition}`;
  return `generating for ${Math.round((Date.now() - (startedAt ?? Date.now())) / 1000)} s`;
}

function reasonOf({ error }: ImageJob): string {
  if (!error) return 'The picture is gone already.';
  return error.reason === undefined ? error.message : `${error.message} (${error.reason})`;
}

/** A file becomes the data URI that a client would send; its label does not matter. */
async function readReference(reference: string): Promise<string> {
  if (/^https?:\/\//.test(reference)) return reference;
  const bytes = await readFile(reference).catch((cause: Error) => {
    throw new CommandFailure(`--ref ${reference} cannot be read: ${cause.message}`, 2);
  });
  return `data:image/png;base64,${bytes.toString('base64')}`;
}
