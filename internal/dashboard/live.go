package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"standin/internal/account"
	"standin/internal/job"
)

// How often a live page looks for news, how long its stream may be silent, and
// how long it lasts before the browser comes again by itself: a session that
// has ended meanwhile is noticed then at the latest.
const (
	lookEvery   = time.Second
	breathEvery = 15 * time.Second
	streamLife  = 10 * time.Minute
)

// parts are pieces of a page, by the id of their element.
type parts map[string]string

// parts writes pieces of a page; each is a template of that name, whose outer
// element has it as its id.
func (x *exchange) parts(page string, data any, names ...string) (parts, error) {
	written := make(parts, len(names))
	for _, name := range names {
		text, err := x.render(page, name, "", data)
		if err != nil {
			return nil, err
		}
		written[name] = string(text)
	}
	return written, nil
}

// stream sends server-sent events: what look gives at first, and then each part
// that has changed, as a JSON object. Jobs change on other nodes too, so it looks
// into the database; a look is one page's queries.
func (x *exchange) stream(look func() (parts, error)) error {
	told, err := look()
	if err != nil {
		return err
	}
	header := x.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // or a proxy would hold it back
	control := http.NewResponseController(x)
	_ = control.SetReadDeadline(time.Time{}) // see serving
	x.WriteHeader(http.StatusOK)
	if !x.event(control, told) {
		return nil
	}
	again, end := time.NewTicker(lookEvery), time.NewTimer(streamLife)
	defer again.Stop()
	defer end.Stop()
	spoke := time.Now()
	for {
		select {
		case <-again.C:
		case <-end.C:
			return nil
		case <-x.d.draining:
			return nil
		case <-x.r.Context().Done():
			return nil
		}
		if time.Since(spoke) > breathEvery {
			if !x.stillSignedIn() {
				return nil
			}
			spoke = time.Now()
			if !x.line(control, ":\n\n") {
				return nil
			}
		}
		seen, err := look()
		if err != nil {
			x.err = err
			return nil // the browser comes again, and is told then
		}
		news := make(parts)
		for name, text := range seen {
			if told[name] != text {
				news[name] = text
			}
		}
		if told = seen; len(news) == 0 {
			continue
		}
		if spoke = time.Now(); !x.event(control, news) {
			return nil
		}
	}
}

// stillSignedIn reports whether the session has not ended meanwhile.
func (x *exchange) stillSignedIn() bool {
	_, err := x.d.settings.Users.Session(x.r.Context(), x.secret)
	return !job.ErrorIs(err, job.Unauthorized)
}

// event sends parts; false when nobody listens any more.
func (x *exchange) event(control *http.ResponseController, news parts) bool {
	text, err := json.Marshal(news)
	if err != nil {
		x.err = fmt.Errorf("encode news: %w", err)
		return false
	}
	return x.line(control, "data: "+string(text)+"\n\n")
}

func (x *exchange) line(control *http.ResponseController, text string) bool {
	_ = control.SetWriteDeadline(time.Now().Add(breathEvery)) // see serving
	if _, err := x.Write([]byte(text)); err != nil {
		return false
	}
	return control.Flush() == nil
}

// liveJob sends what has changed of a job's page.
func (d *Dashboard) liveJob(x *exchange, session account.Session) error {
	kept := new(readRecording)
	return x.stream(func() (parts, error) {
		shown, err := d.shownJob(x, session, kept)
		if err != nil {
			return nil, err
		}
		return x.parts("job", shown, "state", "controls", "recording", "timeline", "deliveries")
	})
}
