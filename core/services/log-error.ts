const MAX_CAUSES = 5;
const STACK_LINES = 6;
const MAX_MESSAGE = 500;

export interface DescribedError {
  name: string;
  message: string;
  code?: string;
  stack?: string;
  causes?: { name: string; message: string; code?: string }[];
}

/**
 * An error as it may be logged: name, message, code, top of the stack, and the same of its causes. Never its other
 * properties, since body parsers put bodies there and HTTP clients put headers there.
 */
export function describeError(error: unknown, redact: (text: string) => string): DescribedError {
  const described: DescribedError = describe(error, redact);
  if (error instanceof Error && error.stack) {
    const frames = error.stack.split('\n').filter((line) => /^\s+at /.test(line));
    described.stack = redact(frames.slice(0, STACK_LINES).join('\n'));
  }
  const causes: { name: string; message: string; code?: string }[] = [];
  let cause = error instanceof Error ? error.cause : undefined;
  while (cause !== undefined && causes.length < MAX_CAUSES) {
    causes.push(describe(cause, redact));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  if (causes.length > 0) described.causes = causes;
  return described;
}

function describe(error: unknown, redact: (text: string) => string): { name: string; message: string; code?: string } {
  if (!(error instanceof Error)) return { name: typeof error, message: 'something that is not an error was thrown' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    name: error.name,
    message: redact(error.message).slice(0, MAX_MESSAGE),
    ...(code !== undefined && { code }),
  };
}
