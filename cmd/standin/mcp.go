package main

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"standin/client"
	"standin/internal/server/mcpserver"
)

type mcpCommand struct{ serviceFlags }

// Run serves one agent until it closes standard input.
func (c *mcpCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	return mcpserver.New(slog.New(slog.NewTextHandler(to.Err, nil))).Serve(ctx, api, &mcp.StdioTransport{})
}
