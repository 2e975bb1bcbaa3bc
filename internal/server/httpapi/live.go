package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/server/live"
)

const (
	// liveKeepAlive is the interval of comments on an idle stream.
	liveKeepAlive = 15 * time.Second
	// liveLifetime is how long a stream lasts. The client reconnects.
	liveLifetime = time.Hour
	// liveRetry is how long a client should wait before it reconnects.
	liveRetry = 3 * time.Second
)

func (a *API) liveJob(r *apiRequest) error {
	j, err := r.job()
	if err != nil {
		return err
	}
	var query struct {
		Follow string `json:"follow"`
	}
	if err := r.read(&query); err != nil {
		return err
	}
	last, ended := live.CutEnd(r.Request.Header.Get("Last-Event-ID"))
	at, err := live.ParseCursor(last)
	if err != nil {
		return job.NewError(job.InvalidInput, "Last-Event-ID is not the id of an event.", "Last-Event-ID")
	}
	done, err := a.Streams.TryAcquire(r.caller.ConsumerID.String(), 1)
	if err != nil {
		return err
	}
	defer done()
	feed, leave := a.Live.Join(j.ID)
	defer leave()
	s := &liveStream{
		apiRequest: r, control: http.NewResponseController(r), feed: feed, at: at, ended: ended, follow: query.Follow != "false",
	}
	return s.run()
}

// liveStream is the stream of one listener.
type liveStream struct {
	*apiRequest
	control *http.ResponseController
	feed    *live.Feed
	at      live.Cursor
	ended   bool // the client has the event end
	follow  bool // after the events so far

	started                bool
	participants, speaking string // as sent
}

// run writes events until the job has ended, the API key was revoked, or the client is
// gone or does not read.
func (s *liveStream) run() error {
	_ = s.control.SetReadDeadline(time.Time{}) // see ServeHTTP
	keepAlive, recheck, end := time.NewTicker(liveKeepAlive), time.NewTicker(account.RecheckInterval), time.NewTimer(liveLifetime)
	defer keepAlive.Stop()
	defer recheck.Stop()
	defer end.Stop()
	revoked := s.api.Revocations.Next()
	for {
		select {
		case <-revoked:
			revoked = s.api.Revocations.Next()
			if !s.stillAllowed() {
				return nil
			}
		default:
		}
		status, changed := s.feed.Status()
		if status.Ready {
			if finished, err := s.advance(status); finished || err != nil || !s.follow {
				return err
			}
		}
		select {
		case <-changed:
		case <-revoked: // checked above
		case <-recheck.C:
			if !s.stillAllowed() {
				return nil
			}
		case <-keepAlive.C:
			if s.started && !s.send([]byte(":\n\n")) {
				return nil
			}
		case <-end.C:
			return nil
		case <-s.api.draining:
			return nil
		case <-s.Context().Done():
			return nil
		}
	}
}

// advance writes everything up to a status of the feed. It reports whether the
// stream is finished.
func (s *liveStream) advance(status live.Status) (finished bool, err error) {
	for s.at != status.Tail {
		events, next, err := s.feed.After(s.Context(), s.at)
		if err != nil && !s.started {
			return true, fmt.Errorf("read the events of a job: %w", err)
		}
		if err != nil {
			return true, nil //nolint:nilerr // the client reconnects
		}
		if next == s.at {
			next = status.Tail // the client sent an id that no event has
		}
		s.at = next
		if !s.writeEvents(events) {
			return true, nil
		}
		if current, _ := s.feed.Status(); current.Tail != status.Tail {
			status = current
		}
	}
	if status.End != "" && !s.started && s.ended {
		s.WriteHeader(http.StatusNoContent) // a browser that reconnects stops
		return true, nil
	}
	var out bytes.Buffer
	if status.End == "" {
		if status.Participants != "" && status.Participants != s.participants {
			writeEvent(&out, "participants", status.Participants, "")
			s.participants = status.Participants
		}
		if status.Speaking != "" && status.Speaking != s.speaking {
			writeEvent(&out, "speaking", status.Speaking, "")
			s.speaking = status.Speaking
		}
	} else {
		writeEvent(&out, "end", status.End, live.EndID(s.at))
	}
	if (out.Len() > 0 || !s.started) && !s.send(out.Bytes()) {
		return true, nil
	}
	return status.End != "" || status.Gone, nil
}

// writeEvents writes events; false when the client is gone or does not read.
func (s *liveStream) writeEvents(events []live.Event) bool {
	var out bytes.Buffer
	for _, event := range events {
		if event.Name != "" {
			writeEvent(&out, event.Name, string(event.Data), event.Cursor.String())
		}
	}
	return out.Len() == 0 || s.send(out.Bytes())
}

// writeEvent writes an event. Data has no line breaks.
func writeEvent(out *bytes.Buffer, name, data, id string) {
	if id != "" {
		fmt.Fprintf(out, "id: %s\n", id)
	}
	fmt.Fprintf(out, "event: %s\ndata: %s\n\n", name, data)
}

// send writes and flushes; false when the client is gone, or has not read for the
// stall timeout.
func (s *liveStream) send(text []byte) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.api.Timeouts.Stall)) // see ServeHTTP
	if !s.started {
		s.started = true
		header := s.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("X-Accel-Buffering", "no") // or a proxy would buffer the stream
		s.WriteHeader(http.StatusOK)
		text = append(fmt.Appendf(nil, "retry: %d\n\n", liveRetry.Milliseconds()), text...)
	}
	if _, err := s.Write(text); err != nil {
		return false
	}
	return s.control.Flush() == nil
}

// stillAllowed reports whether the API key is still valid.
func (s *liveStream) stillAllowed() bool {
	token, _ := s.bearer()
	_, err := s.api.Keys.Authenticate(s.Context(), token)
	return !job.ErrorIs(err, job.Unauthorized)
}

const (
	// screenshotWait is how long a request waits for the first picture: until the bot has
	// heard that somebody watches it.
	screenshotWait = 10 * time.Second
	// screenshotPoll is how often the database is read meanwhile.
	screenshotPoll = 500 * time.Millisecond
	// maxScreenshotSide bounds the width and the height of a picture, in pixels.
	maxScreenshotSide = 4096
)

// getScreenshot returns the newest picture of a bot's meeting page.
func (a *API) getScreenshot(r *apiRequest) error {
	done, err := a.Streams.TryAcquire(r.caller.ConsumerID.String(), 1)
	if err != nil {
		return err
	}
	defer done()
	found, err := a.awaitScreenshot(r.Context(), r.caller, r.id)
	if err != nil {
		return err
	}
	r.Header().Set("Last-Modified", found.TakenAt.UTC().Format(http.TimeFormat))
	return r.respondContent("image/jpeg", found.Image)
}

// awaitScreenshot waits for a picture for up to screenshotWait.
func (a *API) awaitScreenshot(ctx context.Context, caller account.Caller, id uuid.UUID) (job.Screenshot, error) {
	poll, end := time.NewTicker(screenshotPoll), time.NewTimer(screenshotWait)
	defer poll.Stop()
	defer end.Stop()
	for {
		found, err := a.Jobs.Screenshot(ctx, caller, id)
		if err != nil || !found.TakenAt.IsZero() {
			return found, err
		}
		select {
		case <-poll.C:
			continue
		case <-end.C:
		case <-a.draining:
		case <-ctx.Done():
		}
		return found, job.NewError(job.InvalidState, "the bot sends no picture of its page: it is being started, or nothing may be recorded now")
	}
}

// ingestScreenshot stores a picture of a bot's meeting page.
func (a *API) ingestScreenshot(r *apiRequest) error {
	bot, err := r.botInPath(nil)
	if err != nil {
		return err
	}
	r.Level = slog.LevelDebug
	image, done, err := r.readBody(ingest.MaxScreenshot)
	if err != nil {
		return err
	}
	defer done()
	if size, err := jpeg.DecodeConfig(bytes.NewReader(image)); err != nil || size.Width > maxScreenshotSide ||
		size.Height > maxScreenshotSide {
		return invalid(issue("contentMediaType", fmt.Sprintf("must be a JPEG of at most %d pixels in each direction", maxScreenshotSide)))
	}
	done()
	return r.respond(okBody{true}, a.Jobs.SaveScreenshot(r.Context(), bot, image))
}
