export type { Progress } from './backup.js';
