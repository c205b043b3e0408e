/*
 * Instructions that connect agents to the endpoint of the Model Context Protocol: Claude Code, Codex, VS Code, and the
 * inspector of the protocol. Where agents can sign in, they need the address alone. Otherwise each client reads the key
 * from the environment, or asks for it; no file contains it.
 */

import { shellWord } from '../format/index.js';
import { MCP_PATH } from '../mcp/index.js';
import { KEY_VARIABLE, type SetupClient } from './setup.js';

/** Instructions for each agent. @param baseUrl Without a trailing slash. @param signsIn Whether agents can sign in. */
export function agentClients(baseUrl: string, signsIn: boolean): readonly SetupClient[] {
  const url = baseUrl + MCP_PATH;
  return [claudeCode(url, signsIn), codex(url, signsIn), vscode(url, signsIn), inspector(url)];
}

function claudeCode(url: string, signsIn: boolean): SetupClient {
  const headers = { Authorization: `Bearer \${${KEY_VARIABLE}}` };
  const server = { type: 'http', url, ...(!signsIn && { headers }) };
  return {
    id: 'mcp-claude-code',
    title: 'Claude Code',
    ...(signsIn && { signsIn }),
    summary: signsIn
      ? 'Adds the tools to Claude Code; enter /mcp there to sign in. For all who work on a project, the file does the same: Claude Code asks once before it uses it.'
      : 'Adds the tools to Claude Code in a project. The file waits for your approval, which Claude Code asks for at its next start. The key comes from the environment.',
    // A header in this command would put the key into a file.
    ...(signsIn && { add: `claude mcp add --transport http mediagate ${shellWord(url)}` }),
    files: [{ path: '.mcp.json', language: 'json', content: json({ mcpServers: { mediagate: server } }) }],
    commands: ['claude mcp list'],
  };
}

function codex(url: string, signsIn: boolean): SetupClient {
  const key = signsIn ? '' : `bearer_token_env_var = "${KEY_VARIABLE}"\n`;
  const content = `[mcp_servers.mediagate]\nurl = ${JSON.stringify(url)}\n${key}`;
  return {
    id: 'mcp-codex',
    title: 'Codex with tools',
    ...(signsIn && { signsIn }),
    summary: signsIn
      ? 'Adds the tools to Codex, and signs in.'
      : 'Adds the tools to Codex, which takes the key from the environment.',
    add: `codex mcp add mediagate --url ${shellWord(url)}${signsIn ? '' : ` --bearer-token-env-var ${KEY_VARIABLE}`}`,
    files: [{ path: '~/.codex/config.toml', language: 'toml', content }],
    commands: signsIn ? ['codex mcp login mediagate', 'codex mcp list'] : ['codex mcp list'],
  };
}

function vscode(url: string, signsIn: boolean): SetupClient {
  const input = { type: 'promptString', id: 'mediagate-key', description: 'API key of mediagate', password: true };
  // The braces are those of VS Code.
  const headers = { Authorization: `Bearer \${input:${input.id}}` };
  const servers = { mediagate: { type: 'http', url, ...(!signsIn && { headers }) } };
  return {
    id: 'mcp-vscode',
    title: 'VS Code',
    ...(signsIn && { signsIn }),
    summary: signsIn
      ? 'Adds the tools to the agents of VS Code in a project. It opens the sign-in by itself.'
      : 'Adds the tools to the agents of VS Code in a project. It asks for the key once, and keeps it.',
    ...(signsIn && {
      add: `code --add-mcp ${shellWord(JSON.stringify({ name: 'mediagate', ...servers.mediagate }))}`,
    }),
    files: [
      {
        path: '.vscode/mcp.json',
        language: 'json',
        content: json(signsIn ? { servers } : { inputs: [input], servers }),
      },
    ],
    commands: ['code .'],
  };
}

function inspector(url: string): SetupClient {
  return {
    id: 'mcp-inspector',
    title: 'Inspector',
    summary: 'Lists the tools with the inspector of the protocol, to see what an API key may use.',
    files: [],
    commands: [
      `npx @modelcontextprotocol/inspector --cli ${shellWord(url)} --transport http \\\n  --header "Authorization: Bearer $${KEY_VARIABLE}" --method tools/list`,
    ],
  };
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
