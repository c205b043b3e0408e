/** The reader of import statements, which the architecture test uses. */

import { expect } from 'chai';
import { importsOf } from './support/docs/import-statements.js';

describe('reader of import statements', () => {
  it('finds every kind of import, and none in comments', () => {
    const source = [
      "import 'bare';",
      "import one from 'default';",
      "import {\n  two,\n  type Three,\n} from './several.js';",
      "import type { Four } from 'only-types';",
      "export * from '../again.js';",
      "const five = await import('lazily');",
      "const six = require('the-old-way');",
      "const seven = createRequire(import.meta.url)('by-a-made-require');",
      "// import 'commented-out';",
      "/** import eight from 'documented'; */",
      "const url = 'https://example.com'; import nine from 'after-a-url';",
    ].join('\n');
    expect(importsOf(source)).to.deep.equal([
      'bare',
      'default',
      './several.js',
      'only-types',
      '../again.js',
      'lazily',
      'the-old-way',
      'by-a-made-require',
      'after-a-url',
    ]);
  });
});
