/*
 * The entry of the `mediagate` program: it runs the command of its arguments and sets the exit code.
 */

import { runProgram } from './program.js';

await runProgram();
