import type { BatchItem } from 'mediagate';
import { describeFailure } from '../http/index.js';
import { encodeJob } from './extract-job.js';
import { encodeExtraction } from './extract-response.js';

/** What is to be said about the options of a batch, platform by platform. */
export type NotesFor = (platform: string) => readonly string[];

/**
 * The answer to a batch in UTF-8, item by item in the order of the links, so that fifty documents need not be in memory
 * as one text. What failed says so where it stands.
 */
export function* encodeBatch(items: readonly BatchItem[], notesFor: NotesFor): Generator<Buffer> {
  const countOf = (member: string) => items.filter((item) => member in item).length;
  const counts = {
    count: items.length,
    succeeded: countOf('result'),
    queued: countOf('job'),
    failed: countOf('error'),
  };
  yield Buffer.from(`${JSON.stringify({ ok: true, ...counts }).slice(0, -1)},"items":[`);
  for (const [index, item] of items.entries()) {
    const before = `${index > 0 ? ',' : ''}{"index":${index},"url":${JSON.stringify(item.url)},`;
    yield Buffer.concat([Buffer.from(before), ...encodeOutcome(item, notesFor), Buffer.from('}')]);
  }
  yield Buffer.from(']}');
}

function encodeOutcome(item: BatchItem, notesFor: NotesFor): Buffer[] {
  if ('error' in item) {
    const { error } = item;
    const failure = { ok: false, status: 'failed', platform: error.platform, error: describeFailure(error) };
    return [Buffer.from(JSON.stringify(failure).slice(1, -1))];
  }
  const head = (status: string) => Buffer.from(`"ok":true,"status":"${status}","result":`);
  if ('job' in item) {
    const { job, url } = item;
    return [head('queued'), encodeJob(job, { inputUrl: url, notes: notesFor(job.platform) })];
  }
  return [head('completed'), encodeExtraction(item.result, { notes: notesFor(item.result.platform) })];
}
