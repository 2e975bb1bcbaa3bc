package main

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"standin/client"
	"standin/internal/server/mcpserver"
)

type mcpCommand struct{ serviceFlags }

// Help says who starts the command.
func (mcpCommand) Help() string {
	return "Agents such as Claude, Cursor and VS Code start this command; the page Agents of the guide shows their configuration. It calls the API with the key of standin login or STANDIN_API_KEY. A service also serves agents at /mcp, without this command."
}

// Run serves one agent until it closes standard input.
func (c *mcpCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	return mcpserver.New(slog.New(slog.NewTextHandler(to.Err, nil))).Serve(ctx, api, &mcp.StdioTransport{})
}
