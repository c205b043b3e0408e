/*
 * The endpoint for agents. Other folders import it from here alone.
 */

// Declares its error codes.
import './errors.js';

export { llmsTextRoutes } from './llms-text.js';
export { MCP_PATH, type McpServices, mcpRoutes } from './mcp-routes.js';
