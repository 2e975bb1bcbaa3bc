// Package limit has the bare servers that Standin is compared with. Each decodes
// a job, stores one row durably in a group with other requests, and answers. Some
// also send a webhook, and one stores what an event of a bot does. They have no
// metrics, and all but one have no authentication, validation or logging, so their
// rates are upper limits for a server in Go on the same machine and database.
package limit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// Kind is the kind of a limit program.
type Kind string

// The kinds of limit programs.
const (
	NoDatabase Kind = "no-database" // answers without storing anything
	OneTable   Kind = "one-table"   // stores a row of five columns with one unique index
	JobsTable  Kind = "jobs-table"  // stores a row of Standin's jobs table, with all its indexes
	Webhook    Kind = "webhook"     // stores the row of OneTable, posts it to a receiver, and stores that it was delivered

	// CheckedJobs is JobsTable that looks up the key of each request, checks its body
	// against Standin's API description, and logs it.
	CheckedJobs Kind = "checked-jobs"

	// EventTables changes a job of Standin, inserts an entry of its timeline and a
	// delivery, posts the request to a receiver, and stores that it was delivered, all
	// in Standin's tables with their indexes.
	EventTables Kind = "event-tables"
)

// Path is the only path of a limit program.
const Path = "/jobs"

// request is the body of a request.
type request struct {
	ExternalID string          `json:"externalId"`
	MeetingURL string          `json:"meetingUrl"`
	JoinAt     time.Time       `json:"joinAt"`
	Metadata   json.RawMessage `json:"metadata"`
	Webhooks   *webhooks       `json:"webhooks,omitempty"` // of the kinds that send one
}

type webhooks struct {
	OnStatusChange string `json:"onStatusChange"`
}

// response is the body of a response.
type response struct {
	ID        uuid.UUID `json:"id"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
	request
}

// inserter stores jobs.
type inserter interface {
	// insert returns when the job is durable.
	insert(ctx context.Context, r response) error
	// delivered returns when it is durable that the webhook of a job was
	// delivered. It is for the kinds that send one.
	delivered(ctx context.Context, r response) error
	close()
}

// Serve serves a limit program until ctx ends. It prints its URL to out.
// address is a postgres:// URL or the path of a SQLite file.
func Serve(ctx context.Context, out io.Writer, kind Kind, address string) error {
	jobs, err := newInserter(ctx, kind, address)
	if err != nil {
		return err
	}
	defer jobs.close()
	if kind == Webhook || kind == EventTables {
		jobs = newSender(ctx, jobs)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler, err := newHandler(kind, jobs)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, handler)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Fprintf(out, "limit %s listening on http://%s\n", kind, listener.Addr())
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// newHandler returns the handler of a kind.
func newHandler(kind Kind, jobs inserter) (http.HandlerFunc, error) {
	if kind != CheckedJobs {
		return create(jobs, decodeOnly), nil
	}
	c, err := newChecks()
	if err != nil {
		return nil, err
	}
	return c.logged(create(jobs, c.decode)), nil
}

// decodeOnly decodes the body of a request.
func decodeOnly(r *http.Request) (body request, err error) {
	err = json.NewDecoder(r.Body).Decode(&body)
	return body, err
}

// create returns a handler that stores the job of a request and answers with it.
func create(jobs inserter, decode func(*http.Request) (request, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		body, err := decode(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		job := response{ID: uuid.Must(uuid.NewV7()), Status: "scheduled", CreatedAt: time.Now().UTC(), request: body}
		if err := jobs.insert(r.Context(), job); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		text, err := json.Marshal(job)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(text)
	}
}

// nothing is the inserter without a database.
type nothing struct{}

func (nothing) insert(context.Context, response) error    { return nil }
func (nothing) delivered(context.Context, response) error { return nil }
func (nothing) close()                                    {}
