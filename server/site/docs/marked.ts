/*
 * The Markdown parser of the guides. The build bundles the package into this file, so that an installation needs no
 * package for it.
 */

export { Marked, type Token, type Tokens } from 'marked';
