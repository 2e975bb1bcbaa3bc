package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"standin/client"
	"standin/internal/account"
)

// agentLimits bound the messages of agents that are being answered: some wait for
// minutes.
var agentLimits = LiveLimits{PerConsumer: 50, Total: 500}

// maxAgentMessage bounds a message of an agent in bytes. The longest texts of all
// arguments are shorter.
const maxAgentMessage = 64 << 10

// mcp serves agents that speak the Model Context Protocol. Their tools are requests to
// this API with the same key.
func (a *API) mcp(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	done, ok := a.agents.open(caller.ConsumerID)
	if !ok {
		return rateLimited(liveRefusedWait)
	}
	defer done()
	body, release, err := a.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	if len(body) > maxAgentMessage {
		return tooLarge(maxAgentMessage)
	}
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		return invalid(issue("type", "must be one message, not a batch"))
	}
	ctx, stop := a.untilDrain(r.Context())
	defer stop()
	token, _ := bearer(r)
	api, err := client.New("http://"+inProcessHost, token)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	a.settings.Agents.ServeHTTP(w, r, api.WithHTTPClient(&http.Client{Transport: inProcess{a, r}}), a.settings.Timeouts.Stall)
	return nil
}
