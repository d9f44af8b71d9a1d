"""Serves the tools for agents over REST and MCP.

Entry: `router` and `mcp`. No other folder of `api` imports it.
"""
