package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"standin/bench/process"
	"standin/bench/seed"
)

// signingKey is the key of bot tokens.
const signingKey = "a key for the benchmarks"

// instance is a running service.
type instance struct {
	*process.Process
	program  string // standin or base
	database string
	address  string // of the database
	key      string // of the consumer, live
	testKey  string

	command, settings []string // how it is started
	log               string   // file

	copied int // copies of jobs that were inserted
}

// start starts a service with a new database.
func (e *env) start(ctx context.Context, program, database string, args ...string) (*instance, error) {
	dir, err := e.newDir()
	if err != nil {
		return nil, err
	}
	address, err := e.newDatabase(ctx, database, dir)
	if err != nil {
		return nil, err
	}
	return e.startIn(ctx, program, database, dir, address, args...)
}

// startIn starts a service with a data directory and a database.
func (e *env) startIn(ctx context.Context, program, database, dir, address string, args ...string) (*instance, error) {
	s := &instance{program: program, database: database, address: address}
	binary := e.binaries()[program]
	settings := []string{"STANDIN_INGEST_SIGNING_KEY=" + signingKey, "STANDIN_DATA_DIR=" + dir}
	if seed.IsPostgres(address) {
		settings = append(settings, "STANDIN_DATABASE_URL="+address)
	}
	s.command = append([]string{binary, "serve", "--listen", "127.0.0.1:0", "--launcher", "manual"}, args...)
	s.settings, s.log = settings, filepath.Join(dir, "log")
	var errs [2]error
	s.key, errs[0] = s.createKey(ctx, "bench")
	s.testKey, errs[1] = s.createKey(ctx, "bench", "--test")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return s, s.serve(ctx)
}

// createKey creates a key of a consumer.
func (s *instance) createKey(ctx context.Context, consumer string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, s.command[0], append([]string{"keys", "create", "--consumer", consumer}, args...)...)
	command.Env = append(os.Environ(), s.settings...)
	var problem strings.Builder
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("create a key: %w: %s", err, problem.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// serve starts the service.
func (s *instance) serve(ctx context.Context) (err error) {
	s.Process, err = process.Start(ctx, s.log, s.settings, s.command[0], s.command[1:]...)
	return err
}

// call sends a request of the consumer and returns the body of the response.
func (s *instance) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.Address+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return text, nil
}

// job is the body of a create request.
type job struct {
	ExternalID string         `json:"externalId"`
	MeetingURL string         `json:"meetingUrl"`
	JoinAt     time.Time      `json:"joinAt"`
	Webhooks   *webhooks      `json:"webhooks,omitempty"`
	Metadata   map[string]any `json:"metadata"`
}

type webhooks struct {
	OnStatusChange string `json:"onStatusChange"`
}

// newJob returns a job that is due in two days.
func newJob(n int) job {
	return job{
		ExternalID: fmt.Sprintf("job %d", n), MeetingURL: "https://meet.google.com/abc-defg-hij",
		JoinAt: time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second), Metadata: map[string]any{"customer": "ada", "room": 7},
	}
}

// createJob creates a job and returns its ID.
func (s *instance) createJob(ctx context.Context, j job) (string, error) {
	text, err := s.call(ctx, http.MethodPost, "/api/v1/jobs", j)
	if err != nil {
		return "", err
	}
	var created struct {
		ID string `json:"id"`
	}
	return created.ID, json.Unmarshal(text, &created)
}

// encode returns a complete request for a load. body may be nil.
func encode(method, path, token string, body any) []byte {
	var request bytes.Buffer
	fmt.Fprintf(&request, "%s %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n", method, path, token)
	if body != nil {
		content, err := json.Marshal(body)
		if err != nil {
			panic(err) // all bodies are types of this package
		}
		fmt.Fprintf(&request, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(content), content)
		return request.Bytes()
	}
	request.WriteString("\r\n")
	return request.Bytes()
}

// copyJob creates a job and copies it in the database. set has SQL expressions
// for columns of the copies.
func (s *instance) copyJob(ctx context.Context, count int, set map[string]string) error {
	id, err := s.createJob(ctx, newJob(-1))
	if err != nil {
		return err
	}
	_, err = s.copyOf(ctx, id, count, set)
	return err
}

// copyOf copies a job in the database and returns the copies.
func (s *instance) copyOf(ctx context.Context, id string, count int, set map[string]string) (seed.Copies, error) {
	c := seed.Copies{From: s.copied, Count: count, Of: id, Set: set}
	s.copied += count
	return c, seed.Jobs(ctx, s.address, c)
}

func copyID(i int) string { return seed.JobID(i) }
