package httpapi

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"log/slog"
	"net/http"
	"time"

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

// liveJob writes the events of a job until it has ended, the API key was revoked, or the client is
// gone or does not read.
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
		apiRequest: r, control: http.NewResponseController(r), listener: live.Listener{Feed: feed, At: at}, ended: ended,
	}
	_ = s.control.SetReadDeadline(time.Time{}) // see ServeHTTP
	keepAlive, recheck, end := time.NewTicker(liveKeepAlive), time.NewTicker(account.RecheckInterval), time.NewTimer(liveLifetime)
	defer keepAlive.Stop()
	defer recheck.Stop()
	defer end.Stop()
	revoked := a.Revocations.Next()
	for {
		select {
		case <-revoked:
			revoked = a.Revocations.Next()
			if !s.stillAllowed() {
				return nil
			}
		default:
		}
		status, changed := feed.Status()
		if status.Ready {
			if finished, err := s.advance(status); finished || err != nil || query.Follow == "false" {
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
		case <-a.draining:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// liveStream is the stream of one listener.
type liveStream struct {
	*apiRequest
	control  *http.ResponseController
	listener live.Listener
	ended    bool // the client has the event end
	started  bool
}

// advance writes everything up to a status of the feed. It reports whether the
// stream is finished.
func (s *liveStream) advance(status live.Status) (finished bool, err error) {
	for events, err := range s.listener.Unread(s.Context(), &status) {
		if err != nil && !s.started {
			return true, err
		}
		if err != nil || !s.sendEvents(events) {
			return true, nil //nolint:nilerr // the client reconnects
		}
	}
	if status.End != "" && !s.started && s.ended {
		s.WriteHeader(http.StatusNoContent) // a browser that reconnects stops
		return true, nil
	}
	events := []live.Event{{Name: "end", Data: []byte(status.End), Cursor: s.listener.At}}
	if status.End == "" {
		events = s.listener.Presence(status)
	}
	if (len(events) > 0 || !s.started) && !s.sendEvents(events) {
		return true, nil
	}
	return status.End != "" || status.Gone, nil
}

// sendEvents writes events, whose data has no line breaks; false when the client is gone or does not read.
func (s *liveStream) sendEvents(events []live.Event) bool {
	var out []byte
	for _, event := range events {
		switch event.Name {
		case "participants", "speaking": // they have no position
		case "end":
			out = fmt.Appendf(out, "id: %s\n", live.EndID(event.Cursor))
		default:
			out = fmt.Appendf(out, "id: %s\n", event.Cursor)
		}
		out = fmt.Appendf(out, "event: %s\ndata: %s\n\n", event.Name, event.Data)
	}
	return s.send(out)
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

// getScreenshot returns the newest picture of a bot's meeting page. It waits for the first one.
func (a *API) getScreenshot(r *apiRequest) error {
	done, err := a.Streams.TryAcquire(r.caller.ConsumerID.String(), 1)
	if err != nil {
		return err
	}
	defer done()
	poll, end := time.NewTicker(screenshotPoll), time.NewTimer(screenshotWait)
	defer poll.Stop()
	defer end.Stop()
	for {
		found, err := a.Jobs.Screenshot(r.Context(), r.caller, r.id)
		if err != nil {
			return err
		}
		if !found.TakenAt.IsZero() {
			r.Header().Set("Last-Modified", found.TakenAt.UTC().Format(http.TimeFormat))
			return r.respondContent("image/jpeg", found.Image)
		}
		select {
		case <-poll.C:
			continue
		case <-end.C:
		case <-a.draining:
		case <-r.Context().Done():
		}
		return job.NewError(job.InvalidState, "the bot sends no picture of its page: it is being started, or nothing may be recorded now")
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
