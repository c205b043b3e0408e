/*
 * Instructions that connect agents to the endpoint of the Model Context Protocol: Claude Code, Codex, VS Code, and the
 * inspector of the protocol. No file contains a key: each client reads it from the environment, or asks for it.
 */

import { shellWord } from '../format/index.js';
import { MCP_PATH } from '../mcp/index.js';
import { KEY_VARIABLE, type SetupClient } from './setup.js';

/** Instructions for each agent. @param baseUrl Without a trailing slash. */
export function agentClients(baseUrl: string): readonly SetupClient[] {
  const url = baseUrl + MCP_PATH;
  return [claudeCode(url), codex(url), vscode(url), inspector(url)];
}

function claudeCode(url: string): SetupClient {
  const server = { type: 'http', url, headers: { Authorization: `Bearer \${${KEY_VARIABLE}}` } };
  return {
    id: 'mcp-claude-code',
    title: 'Claude Code',
    summary: 'Adds the tools to Claude Code in a project. It reads the key from the environment.',
    files: [{ path: '.mcp.json', language: 'json', content: json({ mcpServers: { mediagate: server } }) }],
    commands: ['claude mcp list'],
  };
}

function codex(url: string): SetupClient {
  return {
    id: 'mcp-codex',
    title: 'Codex with tools',
    summary: 'Adds the tools to Codex, which takes the key from the environment.',
    files: [
      {
        path: '~/.codex/config.toml',
        language: 'toml',
        content: `[mcp_servers.mediagate]\nurl = ${JSON.stringify(url)}\nbearer_token_env_var = "${KEY_VARIABLE}"\n`,
      },
    ],
    commands: ['codex mcp list'],
  };
}

function vscode(url: string): SetupClient {
  const input = { type: 'promptString', id: 'mediagate-key', description: 'API key of mediagate', password: true };
  // The braces are those of VS Code.
  const server = { type: 'http', url, headers: { Authorization: `Bearer \${input:${input.id}}` } };
  return {
    id: 'mcp-vscode',
    title: 'VS Code',
    summary: 'Adds the tools to the agents of VS Code in a project. It asks for the key once, and keeps it.',
    files: [
      {
        path: '.vscode/mcp.json',
        language: 'json',
        content: json({ inputs: [input], servers: { mediagate: server } }),
      },
    ],
    commands: ['code .'],
  };
}

function inspector(url: string): SetupClient {
  return {
    id: 'mcp-inspector',
    title: 'Inspector',
    summary: 'Lists the tools with the inspector of the protocol, to see what the key may use.',
    files: [],
    commands: [
      `npx @modelcontextprotocol/inspector --cli ${shellWord(url)} --transport http \\\n  --header "Authorization: Bearer $${KEY_VARIABLE}" --method tools/list`,
    ],
  };
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
