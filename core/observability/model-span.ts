import type { NewSpan, SpanAttributes, Usage } from '../contracts/index.js';

/** Work of a model, as OpenTelemetry's conventions for generative AI name it. They are not final yet. */
export function modelSpan(operation: string, model: string, entry: string): NewSpan {
  return {
    name: `${operation} ${model}`,
    kind: 'client',
    attributes: { 'gen_ai.operation.name': operation, 'gen_ai.request.model': model, 'mediagate.entry': entry },
  };
}

export function usageAttributes({ inputTokens, outputTokens }: Usage = {}): SpanAttributes {
  return { 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens };
}
