package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
)

// promise is a job that was accepted, and what was promised about it since.
type promise struct {
	id         uuid.UUID
	externalID string
	want       job.Status // its end, unless it is cancelled
	code       job.FailureCode

	mu         sync.Mutex
	name       string    // the displayName that was set last; empty when it is not known which
	cancelled  time.Time // when a cancel was acknowledged; zero when none was
	cancelling bool      // a cancel was asked for
	told       []string  // names of notetakers that a bot's acknowledged event told of
}

// outcomes are what the simulated bots of this load may do, and how their jobs
// end.
func outcomes() []promise {
	return []promise{
		{name: "success", want: job.Completed},
		{name: "lobby", want: job.Completed},
		{name: "duplicate_events", want: job.Completed},
		{name: "disordered_events", want: job.Completed},
		{name: "second_attempt", want: job.Completed},
		{name: "competing_bot", want: job.Completed},
		{name: "lobby_timeout", want: job.Failed, code: job.LobbyTimeout},
		{name: "host_denied_admission", want: job.Failed, code: job.HostDeniedAdmission},
	}
}

// load is what consumers and bots do to the nodes. Whatever is not acknowledged
// is asked again of another node, as a consumer would.
type load struct {
	nodes    []*node
	key      string
	receiver *receiver
	client   *http.Client

	mu       sync.Mutex
	promises []*promise
}

// run works until ctx ends: creators make jobs, meddlers do something to them.
func (l *load) run(ctx context.Context, seed uint64) {
	var working sync.WaitGroup
	for number := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 100+number))
		do, pause := l.create, 150*time.Millisecond
		if number%2 == 1 {
			do, pause = l.meddle, 60*time.Millisecond
		}
		working.Go(func() {
			ticker := time.NewTicker(pause)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					do(ctx, random)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	working.Wait()
}

// create makes a job, and promises it once it was accepted.
func (l *load) create(ctx context.Context, random *rand.Rand) {
	wish := &outcomes()[random.IntN(len(outcomes()))]
	p := &promise{externalID: uuid.NewString(), want: wish.want, code: wish.code, name: "first"}
	body := map[string]any{
		"externalId": p.externalID, "meetingUrl": "https://meet.google.com/abc-defg-hij", "displayName": p.name,
		"joinAt":   time.Now().Add(time.Duration(random.IntN(3000)) * time.Millisecond).UTC().Format(time.RFC3339Nano),
		"webhooks": map[string]string{"onStatusChange": l.receiver.server.URL, "onFinalize": l.receiver.server.URL + "/final"},
		"metadata": map[string]any{"simulate": map[string]any{"outcome": wish.name, "speed": 1 + random.IntN(4)}},
	}
	var made struct{ ID uuid.UUID }
	for ctx.Err() == nil {
		status := l.ask(ctx, random, http.MethodPost, "/api/v1/jobs", l.key, body, &made)
		if status == http.StatusCreated || status == http.StatusOK {
			break
		}
	}
	if made.ID == uuid.Nil {
		return // it was never accepted
	}
	p.id = made.ID
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promises = append(l.promises, p)
}

// meddle does something to a job of late.
func (l *load) meddle(ctx context.Context, random *rand.Rand) {
	l.mu.Lock()
	late := l.promises[max(0, len(l.promises)-30):]
	l.mu.Unlock()
	if len(late) == 0 {
		return
	}
	p := late[random.IntN(len(late))]
	switch random.IntN(8) {
	case 0:
		l.cancel(ctx, random, p)
	case 1, 2, 3:
		l.patch(ctx, random, p)
	case 4:
		// Whether the job is still in a state for it is not known here.
		l.ask(ctx, random, http.MethodPost, "/api/v1/jobs/"+p.id.String()+"/request-recording-permission", l.key, nil, nil)
	default:
		l.tell(ctx, random, p)
	}
}

func (l *load) cancel(ctx context.Context, random *rand.Rand, p *promise) {
	p.mu.Lock()
	p.cancelling = true
	p.mu.Unlock()
	if l.ask(ctx, random, http.MethodDelete, "/api/v1/jobs/"+p.id.String(), l.key, nil, nil) == http.StatusNoContent {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cancelled = time.Now()
	}
}

// patch renames the bot. Two at once could come in either order, so that each
// job is patched by one at a time.
func (l *load) patch(ctx context.Context, random *rand.Rand, p *promise) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := uuid.NewString()
	switch l.ask(ctx, random, http.MethodPatch, "/api/v1/jobs/"+p.id.String(), l.key, map[string]any{"displayName": name}, nil) {
	case http.StatusOK:
		p.name = name
	case http.StatusConflict:
	default:
		p.name = "" // it may have been done, or not
	}
}

// tell has the job's bot say that another notetaker is there, over HTTP as bots
// do. It moves nothing, but is on the timeline and has its webhook.
func (l *load) tell(ctx context.Context, random *rand.Rand, p *promise) {
	name := uuid.NewString()
	const attempt = 0
	event := map[string]any{
		"kind": job.BotCompetingDetected, "jobId": p.id, "attempt": attempt,
		"emittedAt": time.Now().UTC().Format(time.RFC3339Nano), "data": map[string]any{"detectedBotName": name},
	}
	var answer struct{ Applied bool }
	token := ingest.Token([]byte(signingKey), p.id.String(), attempt)
	if l.ask(ctx, random, http.MethodPost, "/api/v1/ingest", token, event, &answer) == http.StatusOK && answer.Applied {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.told = append(p.told, name)
	}
}

// ask sends a request to some node and returns the status; 0 when no answer
// came.
func (l *load) ask(ctx context.Context, random *rand.Rand, method, path, bearer string, body, into any) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			panic(fmt.Sprintf("a request that cannot be written: %v", err))
		}
		content = bytes.NewReader(text)
	}
	at := l.nodes[random.IntN(len(l.nodes))]
	request, err := http.NewRequestWithContext(ctx, method, at.url()+path, content)
	if err != nil {
		panic(fmt.Sprintf("a request that cannot be made: %v", err))
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0 // the answer did not come whole
	}
	if into != nil && response.StatusCode < 300 {
		if err := json.Unmarshal(text, into); err != nil {
			return 0
		}
	}
	return response.StatusCode
}
