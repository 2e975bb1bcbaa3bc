package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxLiveLine bounds a line of a live stream in bytes.
const maxLiveLine = 1 << 20

// LiveEvent is an event of a job that is being followed.
type LiveEvent struct {
	ID   string          // for Live after a lost connection; empty for some events
	Name string          // state, participants, speaking, caption, chat, transcript or end; new names may be added
	Data json.RawMessage // an object, as described by operation liveJob
}

// LiveText is the data of the events caption and chat.
type LiveText struct {
	ID            string    `json:"id"` // an event with the ID of an earlier one of its name replaces it
	ParticipantID string    `json:"participantId"`
	Author        string    `json:"author"`
	Text          string    `json:"text"` // plain text, not markup
	Language      string    `json:"language"`
	StartedAt     time.Time `json:"startedAt"`
	EndedAt       time.Time `json:"endedAt"`
}

// LiveTranscript is the data of the event transcript: what the live transcriber has heard.
// Times in milliseconds are relative to the start of the recording.
type LiveTranscript struct {
	ID            string           `json:"id"` // an event with the ID of an earlier one replaces it
	Revision      int              `json:"revision"`
	Final         bool             `json:"final"` // no other event with this ID follows
	ParticipantID string           `json:"participantId"`
	Speaker       string           `json:"speaker"`
	StartMS       int64            `json:"startMs"`
	EndMS         int64            `json:"endMs"`
	Text          string           `json:"text"`     // plain text, not markup
	Language      string           `json:"language"` // as the job names it, BCP 47; empty if unknown
	Words         []TranscriptWord `json:"words"`
	Confirmed     int              `json:"confirmed"` // how many of the first words do not change any more
	StartedAt     time.Time        `json:"startedAt"`
	EndedAt       time.Time        `json:"endedAt"`
}

// Live follows a job: from its beginning, or after the event with the ID lastEvent.
// It ends after the event end. It reconnects when the connection is lost, and
// continues after the last event; it yields an error if it cannot.
func (c *Client) Live(ctx context.Context, id, lastEvent string) iter.Seq2[LiveEvent, error] {
	return c.events(ctx, id, lastEvent, nil)
}

// LiveSoFar iterates over the events of a job until now, from its beginning or after
// the event with the ID lastEvent.
func (c *Client) LiveSoFar(ctx context.Context, id, lastEvent string) iter.Seq2[LiveEvent, error] {
	return c.events(ctx, id, lastEvent, url.Values{"follow": {"false"}})
}

// events iterates over the events of a job that a query selects.
func (c *Client) events(ctx context.Context, id, lastEvent string, query url.Values) iter.Seq2[LiveEvent, error] {
	return func(yield func(LiveEvent, error) bool) {
		for failures := 0; ; failures++ {
			began := time.Now()
			finished, err := c.follow(ctx, id, lastEvent, query, func(event LiveEvent) bool {
				failures = 0
				lastEvent = cmp.Or(event.ID, lastEvent)
				return yield(event, nil)
			})
			if finished {
				return
			}
			if time.Since(began) > longestWait { // the service closes streams after an hour
				failures = 0
			}
			var refused *Error
			if errors.As(err, &refused) || failures >= c.retries || sleep(ctx, backoff(failures)) != nil {
				yield(LiveEvent{}, err)
				return
			}
		}
	}
}

// follow reads one stream. It returns whether the caller has all events or wants no
// more, or else why the stream ended.
func (c *Client) follow(ctx context.Context, id, lastEvent string, query url.Values,
	yield func(LiveEvent) bool) (finished bool, err error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastEvent != "" {
		header.Set("Last-Event-ID", lastEvent)
	}
	response, err := c.send(ctx, request{path: apiPath("jobs", id, "live"), query: query, header: header})
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return true, nil
	}
	rows := bufio.NewScanner(response.Body)
	rows.Buffer(nil, maxLiveLine)
	var event LiveEvent
	for rows.Scan() {
		field, value, _ := strings.Cut(rows.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case rows.Text() == "" && event.Name != "":
			if !yield(event) || event.Name == "end" {
				return true, nil
			}
			event = LiveEvent{}
		case field == "id":
			event.ID = value
		case field == "event":
			event.Name = value
		case field == "data":
			event.Data = json.RawMessage(value)
		}
	}
	if err := rows.Err(); err != nil {
		return false, fmt.Errorf("follow job %s: %w", id, err)
	}
	if query.Has("follow") {
		return true, nil
	}
	return false, fmt.Errorf("follow job %s: the service closed the stream", id)
}

// Screenshot returns the newest picture of the meeting page of a job's bot: a JPEG. It waits
// for the first one. The error has the code invalid_state while there is none.
func (c *Client) Screenshot(ctx context.Context, id string) ([]byte, error) {
	picture, err := c.open(ctx, request{path: apiPath("jobs", id, "screenshot")})
	if err != nil {
		return nil, err
	}
	defer picture.Close()
	return io.ReadAll(io.LimitReader(picture, maxLiveLine))
}
