/*
 * The validator of JSON schemas. The build bundles the package into this file, because loading its 83 files one by one
 * takes several times as long.
 */

export { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
