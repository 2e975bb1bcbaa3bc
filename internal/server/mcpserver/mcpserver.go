// Package mcpserver gives agents the API of a service as tools of the Model Context
// Protocol (https://modelcontextprotocol.io): over standard input and output, and over
// HTTP. The tools call the API with the key of the agent's user, so that the API decides
// what it may do.
package mcpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"standin/client"
)

// instructions tell the agent's model how to use the tools together.
const instructions = `Standin sends a bot into an online meeting (Google Meet, Microsoft Teams, Zoom), records it, and returns who was there, what was said, and a recording.

Each visit of a bot is a job. send_bot returns its jobId. The usual order: send_bot, wait_for with until "joined", get_transcript with lastMinutes while the meeting runs, wait_for with until "ended", get_job for the outcome, get_transcript for the whole.
wait_for returns after at most timeoutSeconds. If the result has "reached": false and "ended": false, call it again.
` + warning

// Tools are the tools for the agents of all users. They are safe for concurrent use.
type Tools struct {
	log     *slog.Logger
	version string // of this program, as agents see it
	tools   []tool
	schemas *mcp.SchemaCache // of results
}

// New returns the tools.
func New(log *slog.Logger) *Tools {
	t := &Tools{log: log, version: "unknown", tools: allTools(), schemas: mcp.NewSchemaCache()}
	if build, ok := debug.ReadBuildInfo(); ok {
		t.version = build.Main.Version
	}
	return t
}

// Serve serves one agent with a client's key, until it closes its side or ctx is
// cancelled. Use it with a transport that lasts, such as that of standard input and
// output: the agent can subscribe to transcripts.
func (t *Tools) Serve(ctx context.Context, api *client.Client, transport mcp.Transport) error {
	ctx, cancel := context.WithCancel(ctx)
	following := &subscriptions{api: api, stops: make(map[string]context.CancelFunc)}
	defer following.running.Wait()
	defer cancel()
	server := t.newServer(ctx, api, following)
	following.notify = server.ResourceUpdated
	if err := server.Run(ctx, transport); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return err
	}
	return nil
}

// newServer returns the server of one agent. Calls end with ctx. The agent can subscribe
// to transcripts unless following is nil.
func (t *Tools) newServer(ctx context.Context, api *client.Client, following *subscriptions) *mcp.Server {
	options := &mcp.ServerOptions{
		Instructions: instructions, SchemaCache: t.schemas,
		// their lists do not change
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	}
	if following != nil {
		options.SubscribeHandler = func(call context.Context, request *mcp.SubscribeRequest) error {
			return following.subscribe(ctx, call, request)
		}
		options.UnsubscribeHandler = following.unsubscribe
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "standin", Title: "Standin", Version: t.version}, options)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(call context.Context, method string, request mcp.Request) (result mcp.Result, err error) {
			defer func() {
				if cause := recover(); cause != nil { // it would end the process
					t.log.Error("tool call panicked", "method", method, "error", cause, "stack", string(debug.Stack()))
					result, err = nil, errors.New("internal error")
				}
			}()
			if tool, ok := request.(*mcp.CallToolRequest); ok && string(tool.Params.Arguments) == "null" {
				tool.Params.Arguments = nil // the SDK expects an object or nothing
			}
			call, cancel := context.WithCancel(call)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)() // the SDK does not cancel calls of agents that are gone
			result, err = next(call, method, request)
			switch result := result.(type) {
			case *mcp.CallToolResult:
				if result.IsError {
					explainArguments(result)
				}
			case *mcp.ListToolsResult:
				if me, err := api.Me(call); err == nil && me.Key.Scope == "read" { // the API would refuse the other tools
					result.Tools = slices.DeleteFunc(result.Tools, func(tool *mcp.Tool) bool { return !tool.Annotations.ReadOnlyHint })
				}
			}
			return result, err
		}
	})
	s := session{api: api}
	for _, add := range t.tools {
		add(server, s)
	}
	server.AddResourceTemplate(transcriptTemplate(), s.readTranscript)
	return server
}

// session has the tools of one agent.
type session struct {
	api     *client.Client
	request *mcp.CallToolRequest // while a tool is called
}
