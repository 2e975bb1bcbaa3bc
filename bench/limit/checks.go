package limit

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"standin/api"
)

// Key is the API key of a limit program of the kind CheckedJobs.
const Key = "limit"

// checks is what each request to Standin needs besides its row: its key is looked up,
// its body is checked against Standin's API description, and it is logged.
type checks struct {
	keys        map[[sha256.Size]byte]bool
	description *api.Description
	log         *slog.Logger
}

func newChecks() (*checks, error) {
	description, err := api.Load()
	if err != nil {
		return nil, err
	}
	return &checks{
		keys:        map[[sha256.Size]byte]bool{sha256.Sum256([]byte("Bearer " + Key)): true},
		description: description,
		log:         slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}, nil
}

// decode is like decodeOnly for requests that pass the checks.
func (c *checks) decode(r *http.Request) (body request, err error) {
	if !c.keys[sha256.Sum256([]byte(r.Header.Get("Authorization")))] {
		return body, errors.New("unknown API key")
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return body, err
	}
	checked := c.description.CheckRequest("createJob", text)
	if len(checked.Issues) > 0 {
		return body, errors.New(checked.Issues[0].Message)
	}
	err = checked.Decode(&body)
	return body, err
}

// logged logs the requests of a handler.
func (c *checks) logged(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started, id := time.Now(), rand.Text()
		w.Header().Set("X-Request-Id", id)
		next(w, r)
		c.log.LogAttrs(r.Context(), slog.LevelInfo, "request",
			slog.String("method", r.Method), slog.String("route", r.Pattern), slog.Int64("bytes", r.ContentLength),
			slog.Duration("duration", time.Since(started)), slog.String("request_id", id))
	}
}
