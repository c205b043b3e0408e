/** Sees when a JSON object that comes in pieces is whole. */
export interface JsonEnd {
  push(piece: string): void;
  readonly isWhole: boolean;
}

/** What is between its braces is not checked. */
export function createJsonEnd(): JsonEnd {
  let depth = 0;
  let inText = false;
  let isEscaped = false;
  let isWhole = false;

  return {
    push(piece) {
      for (const letter of piece) {
        if (isEscaped) isEscaped = false;
        else if (inText) {
          if (letter === '\\') isEscaped = true;
          else if (letter === '"') inText = false;
        } else if (letter === '"') inText = true;
        else if (letter === '{' || letter === '[') depth += 1;
        else if (letter === '}' || letter === ']') {
          depth -= 1;
          isWhole = depth === 0;
        }
      }
    },
    get isWhole() {
      return isWhole;
    },
  };
}
