/*
 * Questions about links. Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export { ANSWERS_PATH, type QuestionServices, questionRoutes } from './question-routes.js';
