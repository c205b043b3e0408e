/**
 * The schema builder. The build puts what it consists of into this file: one by one its 373 files take several times as
 * long to load as all of them in one.
 */
export { default as Type, type Static, type TObject, type TSchema } from 'typebox';
