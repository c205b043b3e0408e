/**
 * The schema builder. The build bundles the package into this file: loading its 373 files one by one takes several
 * times as long.
 */
export { default as Type, type Static, type TObject, type TSchema } from 'typebox';
