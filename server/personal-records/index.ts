/*
 * The form in which each folder erases and exports what it stores of a person. Other folders import these from here.
 */

export {
  type ErasureWork,
  type ExportedFields,
  type Person,
  type PersonalRecords,
  pages,
  parseJson,
  rowsOf,
  withTimes,
} from './personal-records.js';
