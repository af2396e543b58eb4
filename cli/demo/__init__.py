"""The demo fleet: real MCP servers, real clients in simulated agents, real exporters. Only what goes wrong is invented."""
