/** Long calls of agents: tasks of both revisions, which are durable jobs, and calls that wait with progress. */

import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import type { Extraction, GeneratedImage, ImageCall } from 'mediagate';
import { inventedImage, inventedModel } from '../../support/images/invented-image.js';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';
import { connect, messagesOf, modernClient } from './client.js';

const PROMPT = { prompt: 'A tug at dawn', size: '1024x1024' };

describe('tasks of agents', function () {
  this.timeout(90_000);
  let app: ListeningApp;
  let key: string;
  let generate: (call: ImageCall) => Promise<GeneratedImage>;
  let extract: (id: string, signal: AbortSignal) => Promise<Extraction>;

  before(async () => {
    app = await startApp({
      gateway: {
        plugins: [
          { use: invented({ extract: ({ link, signal }) => extract(link.id, signal) }) },
          { use: inventedModel((call) => generate(call)) },
        ],
      },
    });
    key = await app.makeKey({ grants: ['images', 'extract'] });
  });
  after(() => app?.close());
  beforeEach(() => {
    generate = inventedImage;
    extract = async (id) => inventedExtraction(id);
  });

  const modern = (byKey = key) => modernClient(app, byKey);
  const begin = async (name: string, input: object, byKey = key) =>
    (await modern(byKey).call(name, input, { tasks: true })).json.result;
  const get = async (taskId: string, byKey = key) => (await modern(byKey).send('tasks/get', { taskId })).json;
  const ended = (taskId: string) =>
    until(async () => {
      const { result } = await get(taskId);
      return result.status !== 'working' && result;
    }, 200);

  describe('of revision 2026-07-28', () => {
    it('are image jobs: begun, read, and completed with the result', async () => {
      const task = await begin('generate_image', PROMPT);
      expect(task).to.deep.include({ resultType: 'task', status: 'working', pollIntervalMs: 5000 });
      expect(task.taskId).to.match(/^imgjob_/);
      const { result, ...done } = await ended(task.taskId);
      expect(done).to.deep.include({ taskId: task.taskId, status: 'completed', resultType: 'complete' });
      expect(done.ttlMs).to.be.a('number');
      expect(result.structuredContent.id).to.equal(task.taskId);
      expect(result.content.map(({ type }: { type: string }) => type)).to.deep.equal([
        'text',
        'image',
        'resource_link',
      ]);
    });

    it('fail with the error of the job', async () => {
      generate = () => Promise.reject(new Error('the darkroom burns'));
      const { taskId } = await begin('generate_image', PROMPT);
      const task = await ended(taskId);
      expect(task).to.deep.include({ status: 'failed' });
      expect(task.error.data.code).to.be.a('string');
    });

    it('are cancelled', async () => {
      generate = ({ signal }) => untilAborted(signal);
      const { taskId } = await begin('generate_image', PROMPT);
      const cancelled = await modern().send('tasks/cancel', { taskId });
      expect(cancelled.json.result).to.deep.include({ resultType: 'complete' });
      expect((await get(taskId)).result.status).to.equal('cancelled');
      const { taskId: done } = await begin('get_link_data_batch', { urls: [LINK] });
      await ended(done);
      const late = await modern().send('tasks/cancel', { taskId: done });
      expect(late.json.error.data.code).to.equal('job_already_terminal');
    });

    it('are background batches of links', async () => {
      const urls = [LINK, 'https://invented.example/item/8'];
      const { taskId } = await begin('get_link_data_batch', { urls, fields: ['metrics'] });
      expect(taskId).to.match(/^exbatch_\w+\.n$/);
      const { result } = await ended(taskId);
      const views = result.structuredContent.items.map(({ data }: { data: { metrics: object } }) => data.metrics);
      expect(views).to.deep.equal([{ views: 7 }, { views: 8 }]);
    });

    it('are jobs of links where the answer takes long, with the parts that were asked for', async () => {
      const url = 'https://invented.example/item/31';
      const { taskId } = await begin('get_link_data', { url, fields: ['metrics', 'transcript'] });
      expect(taskId).to.match(/^exjob_\w+\.nt$/);
      const { result } = await ended(taskId);
      expect(result.structuredContent.data).to.deep.equal({ metrics: { views: 31 } });
      expect(result.structuredContent.limitations.join()).to.match(/transcript_unavailable/);
    });

    it('are not made for answers that come at once', async () => {
      const result = await begin('get_link_data', { url: LINK });
      expect(result).to.deep.include({ resultType: 'complete' });
      expect(result.structuredContent.data.metrics).to.deep.equal({ views: 7 });
    });

    it('are not made for a client that does not know them', async () => {
      const { json } = await modern().call('generate_image', PROMPT);
      expect(json.result).to.deep.include({ resultType: 'complete' });
      expect(json.result.structuredContent.id).to.match(/^imgjob_/);
    });

    it('do not exist for other accounts, other grants and other names', async () => {
      const { taskId } = await begin('generate_image', PROMPT);
      const stranger = await app.makeKey({ grants: ['images'] }, { accountId: 'acc_other' });
      const others = [stranger, await app.makeKey({ grants: ['extract'] })];
      for (const other of others) {
        for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
          const { json } = await modern(other).send(method, { taskId });
          expect(json.error.code, method).to.equal(-32602);
        }
      }
      for (const name of ['imgjob_0000', 'exjob_../../v1/usage.c', 'x', '']) {
        expect((await get(name)).error.code, name).to.equal(-32602);
      }
      expect((await ended(taskId)).status).to.equal('completed');
    });
  });

  describe('of revision 2025-11-25', () => {
    it('are begun, followed and ended by the client of the SDK', async () => {
      const client = await connect(app, key);
      const kinds: string[] = [];
      const stream = client.experimental.tasks.callToolStream(
        { name: 'generate_image', arguments: PROMPT },
        CallToolResultSchema,
        { task: { ttl: 60_000 } },
      );
      let taskId = '';
      for await (const message of stream) {
        kinds.push(message.type);
        if (message.type === 'taskCreated') taskId = message.task.taskId;
        if (message.type === 'result') expect(message.result.structuredContent).to.deep.include({ id: taskId });
      }
      expect(kinds.at(0)).to.equal('taskCreated');
      expect(kinds.at(-1)).to.equal('result');
      await client.close();
    });

    it('are cancelled by the client of the SDK', async () => {
      generate = ({ signal }) => untilAborted(signal);
      const client = await connect(app, key);
      const stream = client.experimental.tasks.callToolStream(
        { name: 'generate_image', arguments: PROMPT },
        CallToolResultSchema,
        { task: { ttl: 60_000 } },
      );
      for await (const message of stream) {
        if (message.type !== 'taskCreated') continue;
        const cancelled = await client.experimental.tasks.cancelTask(message.task.taskId);
        expect(cancelled.status).to.equal('cancelled');
        break;
      }
      await client.close();
    });
  });

  describe('without tasks', () => {
    it('a call waits for its job and reports progress', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      generate = async (call) => {
        await promise;
        return inventedImage(call);
      };
      const answer = modern().call('generate_image', PROMPT, { progressToken: 'mine' });
      setTimeout(resolve, 11_000);
      const messages = messagesOf(await answer);
      const last = messages.pop();
      expect(messages.length).to.be.greaterThan(0);
      for (const { method, params } of messages) {
        expect(method).to.equal('notifications/progress');
        expect(params.progressToken).to.equal('mine');
      }
      expect(last.result.structuredContent.id).to.match(/^imgjob_/);
    });

    it('a queued job of a client that leaves is cancelled', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      generate = async (call) => {
        await promise;
        return inventedImage(call);
      };
      const own = await app.makeKey({ grants: ['images'] });
      const busy: string[] = [];
      const jobsOf = async () =>
        (await app.request('/v1/images/jobs?limit=20', { headers: { authorization: `Bearer ${own}` } })).json.data;
      // All workers are busy, so the last job waits.
      for (let index = 0; index < 40; index += 1) busy.push((await begin('generate_image', PROMPT, own)).taskId);
      const gone = new AbortController();
      const left = modern(own)
        .call('generate_image', PROMPT, { signal: gone.signal })
        .catch(() => undefined);
      await until(async () => !busy.includes((await jobsOf())[0].id), 200);
      gone.abort();
      await left;
      await until(async () => (await jobsOf())[0].status === 'cancelled', 200);
      resolve();
    });
  });
});
