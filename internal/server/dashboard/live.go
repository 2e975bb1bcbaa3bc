package dashboard

import (
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// Intervals of event streams. After streamLifetime the browser reconnects.
const (
	pollInterval      = time.Second
	keepAliveInterval = 15 * time.Second
	streamLifetime    = 10 * time.Minute
)

// Bounds of the event streams of a session, and of all.
const (
	maxStreams    = 4
	maxAllStreams = 10_000
)

// parts are elements of a page as HTML, by their id.
type parts map[string]string

// stream sends server-sent events: first all parts of a page with what read returns, then the
// parts that changed, as a JSON object. The name of the template of each part is the id of its
// element. It polls the database, because other nodes change jobs too. It ends with the
// session, the connection or the lifetime of a stream.
func (req *pageRequest) stream(page string, read func() (any, error), names ...string) error {
	current := func() (parts, error) {
		data, err := read()
		if err != nil {
			return nil, err
		}
		written := make(parts, len(names))
		for _, name := range names {
			text, err := req.render(page, name, "", data)
			if err != nil {
				return nil, err
			}
			written[name] = string(text)
		}
		return written, nil
	}
	leave, err := req.d.streams.TryAcquire(req.Hash, 1)
	if err != nil {
		return &pageError{http.StatusTooManyRequests, "Too many pages with live updates are open. Close one of them."}
	}
	defer leave()
	sent, err := current()
	if err != nil {
		return err
	}
	header := req.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // or a proxy would buffer the stream
	control := http.NewResponseController(req)
	_ = control.SetReadDeadline(time.Time{}) // see adapt
	req.WriteHeader(http.StatusOK)
	connected := req.event(control, sent)
	poll, recheck, end := time.NewTicker(pollInterval), time.NewTicker(account.RecheckInterval), time.NewTimer(streamLifetime)
	defer poll.Stop()
	defer recheck.Stop()
	defer end.Stop()
	lastWrite, revoked := time.Now(), req.d.Revocations.Next()
	for connected {
		select {
		case <-poll.C:
		case <-revoked:
			revoked = req.d.Revocations.Next()
			connected = req.stillSignedIn()
		case <-recheck.C:
			connected = req.stillSignedIn()
		case <-end.C:
			return nil
		case <-req.d.draining:
			return nil
		case <-req.Context().Done():
			return nil
		}
		if !connected {
			return nil
		}
		latest, err := current()
		if err != nil {
			req.Err = err
			return nil //nolint:nilerr // the browser reconnects and gets the error
		}
		changed := maps.Clone(latest)
		maps.DeleteFunc(changed, func(name, text string) bool { return sent[name] == text })
		if len(changed) > 0 {
			connected, lastWrite = req.event(control, changed), time.Now()
		} else if time.Since(lastWrite) > keepAliveInterval {
			connected, lastWrite = req.writeEvent(control, ":\n\n"), time.Now()
		}
		sent = latest
	}
	return nil
}

// stillSignedIn reports whether the session is still valid, and its user still has the
// same rights.
func (req *pageRequest) stillSignedIn() bool {
	current, err := req.d.Users.Session(req.Context(), req.secret)
	if err != nil {
		return !job.ErrorIs(err, job.Unauthorized)
	}
	before := req.User
	return current.User.ConsumerID == before.ConsumerID && current.User.Operator == before.Operator && current.User.Role == before.Role
}

// event sends parts. It reports false when the client is gone.
func (req *pageRequest) event(control *http.ResponseController, changed parts) bool {
	text, _ := json.Marshal(changed) // texts always encode
	return req.writeEvent(control, "data: "+string(text)+"\n\n")
}

func (req *pageRequest) writeEvent(control *http.ResponseController, text string) bool {
	_ = control.SetWriteDeadline(time.Now().Add(keepAliveInterval)) // see adapt
	if _, err := req.Write([]byte(text)); err != nil {
		return false
	}
	return control.Flush() == nil
}

// liveJob streams the changes of a job's page.
func (d *Dashboard) liveJob(req *pageRequest, found job.Job, as account.Caller) error {
	var cache recordingCache
	return req.stream("job", func() (any, error) {
		latest, err := d.Jobs.Job(req.Context(), as, found.ID)
		if err != nil {
			return nil, err
		}
		return d.readJob(req.Context(), latest, as, &cache)
	}, "heading", "actions", "state", "picture", "controls", "people", "talk", "recording", "links", "captures", "timeline", "deliveries")
}
