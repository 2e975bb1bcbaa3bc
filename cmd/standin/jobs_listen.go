package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"standin/client"
)

type jobsListenCommand struct {
	jobFlags
	SampleRate int `default:"16000" enum:"8000,16000,24000,48000" help:"Samples per second."`
}

// Run writes samples until the bot has left.
func (c *jobsListenCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	address := api.BaseURL() + "/api/v1/jobs/" + url.PathEscape(c.ID) + "/audio?audio=mixed&sampleRate=" + strconv.Itoa(c.SampleRate)
	header := http.Header{"Authorization": {"Bearer " + access.APIKey}}
	//nolint:bodyclose // Dial closes it
	socket, response, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(address, "http"), &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		if response != nil {
			err = errors.New(response.Status)
		}
		return fmt.Errorf("listen to job %s: %w", c.ID, err)
	}
	defer func() { _ = socket.CloseNow() }()
	for {
		kind, message, err := socket.Read(ctx)
		switch {
		case websocket.CloseStatus(err) == websocket.StatusNormalClosure, errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return fmt.Errorf("listen to job %s: %w", c.ID, err)
		case kind == websocket.MessageBinary && len(message) > 8: // after the source and the time
			if _, err := unescaped(to.Out).Write(message[8:]); err != nil {
				return err
			}
		}
	}
}
