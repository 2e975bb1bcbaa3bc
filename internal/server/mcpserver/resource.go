package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"standin/client"
	"standin/internal/base/retry"
)

// transcriptScheme begins the URIs of transcripts: transcript://JOB.
const transcriptScheme = "transcript://"

func transcriptTemplate() *mcp.ResourceTemplate {
	return &mcp.ResourceTemplate{
		Name: "transcript", Title: "Transcript of a meeting", URITemplate: transcriptScheme + "{job}", MIMEType: "application/json",
		Description: "What was said and written in a meeting so far, in the form of a result of get_transcript. {job} is the jobId. " + warning,
	}
}

// readTranscript returns the resource of a transcript.
func (s session) readTranscript(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := request.Params.URI
	result, err := s.transcript(ctx, transcriptInput{JobID: strings.TrimPrefix(uri, transcriptScheme), Chat: true}, maxResourceText)
	if client.Is(err, "not_found") {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}, nil
}

const (
	// maxSubscriptions bounds the transcripts that an agent follows at a time.
	maxSubscriptions = 10
	// updateInterval is the shortest time between two notifications about a transcript:
	// captions change several times per second.
	updateInterval = 2 * time.Second
	// reconnectPause is the pause before a lost live stream is opened again.
	reconnectPause = 3 * time.Second
)

// subscriptions follow the transcripts to which one agent has subscribed.
type subscriptions struct {
	api    *client.Client
	notify func(context.Context, *mcp.ResourceUpdatedNotificationParams) error

	running sync.WaitGroup // of what is followed
	mu      sync.Mutex
	stops   map[string]context.CancelFunc // by URI
}

// subscribe follows a transcript until ctx ends. call is the context of the request.
func (s *subscriptions) subscribe(ctx, call context.Context, request *mcp.SubscribeRequest) error {
	uri := request.Params.URI
	id := strings.TrimPrefix(uri, transcriptScheme)
	if _, err := s.api.Job(call, id); client.Is(err, "not_found") || !strings.HasPrefix(uri, transcriptScheme) {
		return mcp.ResourceNotFoundError(uri)
	} else if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stops[uri] != nil {
		return nil
	}
	if len(s.stops) >= maxSubscriptions {
		return fmt.Errorf("an agent can subscribe to %d transcripts at a time", maxSubscriptions)
	}
	ctx, stop := context.WithCancel(ctx)
	s.stops[uri] = stop
	s.running.Go(func() {
		s.follow(ctx, uri, id)
		s.mu.Lock()
		defer s.mu.Unlock()
		if ctx.Err() == nil { // or another subscription may have this URI
			stop()
			delete(s.stops, uri)
		}
	})
	return nil
}

// unsubscribe stops following a transcript.
func (s *subscriptions) unsubscribe(_ context.Context, request *mcp.UnsubscribeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.stops[request.Params.URI]; stop != nil {
		stop()
		delete(s.stops, request.Params.URI)
	}
	return nil
}

// follow notifies the agent of changes of a transcript until the job has ended, or may no
// longer be read.
func (s *subscriptions) follow(ctx context.Context, uri, id string) {
	changed := retry.NewSignal()
	s.running.Go(func() {
		for range changed {
			_ = s.notify(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // the agent may be gone, which ends ctx
			_ = retry.Sleep(ctx, updateInterval)
		}
	})
	defer close(changed)
	for last := ""; ctx.Err() == nil; {
		var err error
		var event client.LiveEvent
		for event, err = range s.api.Live(ctx, id, last) {
			switch event.Name {
			case "state", "caption", "chat", "end":
				changed.Send()
			}
			if event.ID != "" {
				last = event.ID
			}
		}
		refused, ok := errors.AsType[*client.Error](err)
		if err == nil || ok && refused.Code != "rate_limited" && refused.Status < 500 {
			return
		}
		_ = retry.Sleep(ctx, reconnectPause)
	}
}
