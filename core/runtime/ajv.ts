/* The compiler of JSON schemas. The build bundles the package into this file, instead of 83 files to load. */

export { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
