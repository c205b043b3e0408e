const MAX_CAUSES = 5;
const STACK_FRAMES = 6;
const MAX_MESSAGE = 500;

/** An error as it is logged. */
export interface DescribedError {
  name: string;
  message: string;
  code?: string;
  /** Innermost frame first. */
  stack?: string[];
  /** What caused it, nearest first. */
  causes?: DescribedError[];
}

/**
 * Name, message, code and the top of the stack; of the causes the same without their stacks. Never another property,
 * since body parsers keep bodies there and HTTP clients headers.
 */
export function describeError(error: unknown, redact: (text: string) => string): DescribedError {
  const described = describe(error, redact);
  if (!(error instanceof Error)) return described;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  if (frames.length > 0) described.stack = frames.slice(0, STACK_FRAMES).map((frame) => redact(frame.trim()));
  const causes: DescribedError[] = [];
  for (let { cause } = error; cause !== undefined && causes.length < MAX_CAUSES; ) {
    causes.push(describe(cause, redact));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  if (causes.length > 0) described.causes = causes;
  return described;
}

function describe(error: unknown, redact: (text: string) => string): DescribedError {
  if (!(error instanceof Error)) {
    return { name: typeof error, message: typeof error === 'string' ? shorten(redact(error)) : 'no error was thrown' };
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    name: redact(error.name),
    message: shorten(redact(error.message)),
    ...(code !== undefined && { code: redact(code) }),
  };
}

function shorten(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;
}
