"""Serves the tools over MCP: at /mcp, on stdin and stdout, and as a bridge to a running service."""
