/** The AI SDK's client through a running gateway. */

import { createOpenAI, type OpenAIProvider } from '@ai-sdk/openai';
import { generateObject, generateSpeech, generateText, stepCountIs, streamText, tool, transcribe } from 'ai';
import { expect } from 'chai';
import { z } from 'zod';
import { type OpenaiAudioUpstream, startOpenaiAudioUpstream } from '../../support/audio/openai-audio-upstream.js';
import { HEARD } from '../../support/audio/openai-transcript-format.js';
import { makeSound, soundSeconds } from '../../support/audio/vendor-sounds.js';
import { startTextSite, type TextSite } from '../../support/models/text-site.js';
import { rejection } from '../../support/rejection.js';
import { variants } from '../../support/runner/variants.js';

const Tugs = z.object({ tugs: z.array(z.string()), berths: z.number() });
const TUGS = '{"tugs":["Zeeleeuw","Noordster"],"berths":4}';

describe('another SDK before a running gateway', () => {
  let audio: OpenaiAudioUpstream;
  let site: TextSite;
  let provider: OpenAIProvider;

  before(async () => {
    audio = await startOpenaiAudioUpstream();
    site = await startTextSite({
      environment: { TRANSCRIPTION_UPSTREAM_URL: audio.baseUrl, SPEECH_UPSTREAM_URL: audio.baseUrl },
      trustedOrigins: [audio.origin],
    });
    const { key } = await site.gateway.makeKey({ grants: ['text', 'audio'] });
    provider = createOpenAI({ apiKey: key, baseURL: `${site.gateway.url}/v1` });
  });
  beforeEach(() => {
    site.upstream.reset();
    audio.reset();
  });
  after(async () => {
    await site.close();
    await audio.close();
  });

  // It speaks both formats, and prefers the second.
  for (const format of variants(['chat', 'responses'] as const, (one) => one === 'responses')) {
    describe(format, () => {
      const model = () => provider[format]('m-5.5');
      const used = () => site.upstream.requests.at(-1)?.usage;
      const prompt = 'Which tugs lie here?';

      it('gets a whole answer', async () => {
        const { text, usage, finishReason, response } = await generateText({ model: model(), prompt });
        expect([text, finishReason]).to.deep.equal([`You said: ${prompt}`, 'stop']);
        expect(usage).to.deep.include({ inputTokens: used()?.input, outputTokens: used()?.output });
        expect(response.modelId).to.equal('m-5.5');
      });

      it('gets a streamed answer', async () => {
        site.upstream.behave([{ does: 'answer', chunks: 7, thinks: 4, odd: ['comments', 'crlf', 'fields'] }]);
        const { textStream, usage } = streamText({ model: model(), prompt });
        let text = '';
        for await (const piece of textStream) text += piece;
        expect(text).to.equal(`You said: ${prompt}`);
        expect(await usage).to.deep.include({ inputTokens: used()?.input, outputTokens: used()?.output });
      });

      it('calls tools, streamed, in both directions', async () => {
        const asked: string[] = [];
        const { steps, text } = streamText({
          model: model(),
          prompt,
          stopWhen: stepCountIs(3),
          tools: {
            weather: tool({
              inputSchema: z.object({ place: z.string() }),
              execute({ place }) {
                asked.push(place);
                return 'drizzle';
              },
            }),
          },
        });
        expect(await text).to.contain('drizzle');
        expect(asked).to.deep.equal(['Ostend at dawn']);
        expect((await steps).map(({ finishReason }) => finishReason)).to.deep.equal(['tool-calls', 'stop']);
      });

      it('follows a schema', async () => {
        site.upstream.behave([{ does: 'answer', text: TUGS }]);
        const { object } = await generateObject({ model: model(), prompt, schema: Tugs });
        expect(object).to.deep.equal(JSON.parse(TUGS));
      });

      it('reports a stream that breaks off', async () => {
        site.upstream.behave([{ does: 'answer', cut: { events: 5 } }]);
        const failures: unknown[] = [];
        const { text } = streamText({ model: model(), prompt, onError: ({ error }) => void failures.push(error) });
        const reason = await text.then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(failures.length + (reason ? 1 : 0), 'it is no answer to the client').to.be.greaterThan(0);
      });

      it('retries a refusal only if that may help', async () => {
        site.upstream.behave(() => ({ does: 'error', status: 400, code: 'context_length_exceeded', message: 'Long.' }));
        const refusal = await rejection(generateText({ model: model(), prompt, maxRetries: 2 }));
        expect(refusal).to.deep.include({ statusCode: 400, isRetryable: false });
        expect(site.upstream.requests).to.have.length(1);
        site.upstream.reset();
        site.upstream.behave(Array.from({ length: 3 }, () => ({ does: 'error', status: 503 })));
        const { text } = await generateText({ model: model(), prompt, maxRetries: 1 });
        expect(text).to.equal(`You said: ${prompt}`);
      });
    });
  }

  it('sends efforts if the model is configured with some', async () => {
    const providerOptions = { openai: { forceReasoning: true, reasoningEffort: 'high', reasoningSummary: 'auto' } };
    await generateText({ model: provider('m-5.5'), system: 'Be brief.', prompt: 'Which tugs?', providerOptions });
    expect(site.upstream.requests[0]?.members).to.deep.nested.include({
      reasoning: { effort: 'high', summary: 'auto' },
      'input[0].role': 'developer',
    });
  });

  it('transcribes', async () => {
    const { text } = await transcribe({
      model: provider.transcription('stt-large-v3'),
      audio: await makeSound('mp3', 2),
    });
    expect(text).to.equal(HEARD);
    expect(audio.requests).to.have.length(1);
  });

  it('speaks', async () => {
    const { audio: said } = await generateSpeech({
      model: provider.speech('tts_v3'),
      text: 'Good morning, harbour.',
      voice: 'nova',
      outputFormat: 'wav',
    });
    expect(await soundSeconds(said.uint8Array)).to.be.greaterThan(0.5);
  });
});
