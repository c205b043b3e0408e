/** Reads the modules that a TypeScript source imports. */

/**
 * What a TypeScript source imports: specifiers of `import`, `export … from`, `import()`, `require()` and `import type`,
 * in the order they appear, comments left out.
 */
export function importsOf(source: string): string[] {
  return [...withoutComments(source).matchAll(SPECIFIER)].map(([, , specifier]) => specifier ?? '');
}

const SPECIFIER =
  /(?<!['"])(?:\bfrom|\bimport|\bimport\s*\(|\brequire(?:\.resolve)?\s*\(|\bcreateRequire\([^)]*\)\s*\()\s*(['"])([^'"\n]+)\1/g;

/** Strings are stepped over as a whole, so that `//` in a URL starts no comment. */
const COMMENT_OR_STRING = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

function withoutComments(source: string): string {
  return source.replace(COMMENT_OR_STRING, (match) => (/^\/[/*]/.test(match) ? ' ' : match));
}
