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

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// promise is an accepted job with the changes that were acknowledged.
type promise struct {
	id         uuid.UUID
	mode       job.Mode
	externalID string
	want       job.Status // the end, unless it is cancelled
	code       job.FailureCode

	mu           sync.Mutex
	name         string    // the last acknowledged displayName; empty if unknown
	cancelled    time.Time // when a cancel was acknowledged; zero if none was
	cancelling   bool      // a cancel was requested
	acknowledged []string  // names of notetakers in acknowledged bot events
}

// outcomes returns the outcomes of the simulated bots and the ends of their jobs.
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

// load sends the requests of consumers and bots. A request without a response is
// repeated on another node, as a consumer would do.
type load struct {
	nodes    []*node
	keys     map[job.Mode]string
	receiver *receiver
	client   *http.Client

	mu       sync.Mutex
	promises []*promise
}

// run creates jobs and sends requests for them until ctx ends.
func (l *load) run(ctx context.Context, seed uint64) {
	var working sync.WaitGroup
	for number := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 100+number))
		do, pause := l.create, 150*time.Millisecond
		if number%2 == 1 {
			do, pause = l.interfere, 60*time.Millisecond
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

// create creates a job and records it when it is accepted.
func (l *load) create(ctx context.Context, random *rand.Rand) {
	outcome := &outcomes()[random.IntN(len(outcomes()))]
	p := &promise{mode: job.Test, externalID: uuid.NewString(), want: outcome.want, code: outcome.code, name: "first"}
	delay := time.Duration(random.IntN(3000)) * time.Millisecond
	if random.IntN(8) == 0 { // its bot is a process, launched before joinAt
		p.mode, p.want, p.code, delay = job.Live, job.Failed, job.MeetingEnded, delay+prelaunch
	}
	body := map[string]any{
		"externalId": p.externalID, "meetingUrl": "https://meet.google.com/abc-defg-hij", "displayName": p.name,
		"joinAt":   time.Now().Add(delay).UTC().Format(time.RFC3339Nano),
		"webhooks": map[string]string{"onStatusChange": l.receiver.server.URL, "onFinalize": l.receiver.server.URL + "/final"},
		"metadata": map[string]any{"simulate": map[string]any{"outcome": outcome.name, "speed": 1 + random.IntN(4)}},
	}
	var created struct{ ID uuid.UUID }
	for ctx.Err() == nil {
		status := l.request(ctx, random, http.MethodPost, "/api/v1/jobs", l.keys[p.mode], body, &created)
		if status == http.StatusCreated || status == http.StatusOK {
			break
		}
	}
	if created.ID == uuid.Nil {
		return // never accepted
	}
	p.id = created.ID
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promises = append(l.promises, p)
}

// interfere sends a request for a recent job.
func (l *load) interfere(ctx context.Context, random *rand.Rand) {
	l.mu.Lock()
	recent := l.promises[max(0, len(l.promises)-30):]
	l.mu.Unlock()
	if len(recent) == 0 {
		return
	}
	p := recent[random.IntN(len(recent))]
	switch random.IntN(8) {
	case 0:
		l.cancel(ctx, random, p)
	case 1, 2, 3:
		l.patch(ctx, random, p)
	case 4:
		// The job may be in a state that does not allow it.
		l.request(ctx, random, http.MethodPost, "/api/v1/jobs/"+p.id.String()+"/request-recording-permission", l.keys[p.mode], nil, nil)
	default:
		if p.mode == job.Test { // nothing shows of a live job's bot before joinAt
			l.sendBotEvent(ctx, random, p)
		}
	}
}

func (l *load) cancel(ctx context.Context, random *rand.Rand, p *promise) {
	p.mu.Lock()
	p.cancelling = true
	p.mu.Unlock()
	if l.request(ctx, random, http.MethodDelete, "/api/v1/jobs/"+p.id.String(), l.keys[p.mode], nil, nil) == http.StatusNoContent {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cancelled = time.Now()
	}
}

// patch renames the bot. Only one patch runs per job, because the order of two would
// be unknown.
func (l *load) patch(ctx context.Context, random *rand.Rand, p *promise) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := uuid.NewString()
	switch l.request(ctx, random, http.MethodPatch, "/api/v1/jobs/"+p.id.String(), l.keys[p.mode], map[string]any{"displayName": name}, nil) {
	case http.StatusOK:
		p.name = name
	case http.StatusConflict:
	default:
		p.name = "" // unknown whether it was applied
	}
}

// sendBotEvent reports another notetaker over HTTP as the job's bot. The event does
// not change the status, but it is on the timeline and has a webhook.
func (l *load) sendBotEvent(ctx context.Context, random *rand.Rand, p *promise) {
	name := uuid.NewString()
	const attempt = 0
	event := map[string]any{
		"kind": job.BotCompetingDetected, "jobId": p.id, "attempt": attempt,
		"emittedAt": time.Now().UTC().Format(time.RFC3339Nano), "data": map[string]any{"detectedBotName": name},
	}
	var answer struct{ Applied bool }
	token := ingest.Token([]byte(signingKey), p.id.String(), attempt)
	if l.request(ctx, random, http.MethodPost, "/api/v1/ingest", token, event, &answer) == http.StatusOK && answer.Applied {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.acknowledged = append(p.acknowledged, name)
	}
}

// request sends a request to a random node and returns the status code, or 0 without
// a response.
func (l *load) request(ctx context.Context, random *rand.Rand, method, path, bearer string, body, into any) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			panic(fmt.Sprintf("encode the request: %v", err))
		}
		content = bytes.NewReader(text)
	}
	at := l.nodes[random.IntN(len(l.nodes))]
	request, err := http.NewRequestWithContext(ctx, method, at.url()+path, content)
	if err != nil {
		panic(fmt.Sprintf("create the request: %v", err))
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
		return 0 // incomplete response
	}
	if into != nil && response.StatusCode < 300 {
		if err := json.Unmarshal(text, into); err != nil {
			return 0
		}
	}
	return response.StatusCode
}
