// Package zoomstream reads what Zoom tells about its Realtime Media Streams, and signs for those who connect to them. The
// package is pure: package store keeps the apps and the streams, and package lifecycle brings them to jobs.
package zoomstream

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// App is an app of Zoom's marketplace, whose users let it receive the media of their meetings.
type App struct {
	ID         uuid.UUID `json:"id"`
	ConsumerID uuid.UUID `json:"teamId"` // the team to which it belongs
	Label      string    `json:"label"`
	ClientID   string    `json:"clientId"`
	Record     bool      `json:"record"` // whether each stream gets a job
	Sealed     string    `json:"-"`      // the encrypted Secrets
	HeardAt    time.Time `json:"heardAt,omitzero"`
	CreatedAt  time.Time `json:"createdAt"`
}

// Secrets are the secrets of an app.
type Secrets struct {
	ClientSecret string `json:"clientSecret"`
	SecretToken  string `json:"secretToken"` // signs webhooks
}

// Stream is a stream of a meeting.
type Stream struct {
	ID          string
	AppID       uuid.UUID
	MeetingUUID string
	Number      string // of the meeting; empty if it is not known
	ServerURLs  string
	Topic       string
}

// Access is what a bot connects to a stream with. It has no secret of the app.
type Access struct {
	Stream
	ClientID  string
	Signature string
}

// Link returns a link to the meeting of the stream.
func (s Stream) Link() string {
	return "https://zoom.us/j/" + cmp.Or(s.Number, s.MeetingUUID)
}

// Kind is what an event tells.
type Kind string

// The kinds of events. Others are ignored.
const (
	Validation Kind = "endpoint.url_validation"
	Started    Kind = "rtms_started"
	Stopped    Kind = "rtms_stopped"
	Meeting    Kind = "started" // a meeting has begun; it tells the number of the meeting
)

// Revoked is the stop reason of a stream whose recording must be deleted.
const Revoked = 8

// Event is what Zoom tells.
type Event struct {
	Kind       Kind
	PlainToken string // of a validation
	Stream     Stream
	StopReason int
}

// maxAge is how old a request of Zoom's may be.
const maxAge = 5 * time.Minute

// Verify reports whether a request is of the app with a secret token.
func Verify(secretToken, timestamp, signature string, body []byte, now time.Time) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > maxAge {
		return false
	}
	return hmac.Equal([]byte("v0="+Sign(secretToken, "v0:"+timestamp+":"+string(body))), []byte(signature))
}

// Sign returns the signature of a text with a secret: of a webhook, of the token of a validation, or of
// "clientID,meetingUUID,streamID", with which a bot connects.
func Sign(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// maxField is the most bytes of a field.
const maxField = 2000

// Parse reads an event. Meetings, webinars and sessions of Zoom's Video SDK have other names for the same, and their fields are in
// the payload or in its object.
func Parse(body []byte) (Event, error) {
	var message struct {
		Event   string
		Payload struct {
			fields
			PlainToken string
			Object     fields
		}
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return Event{}, errors.New("the event is not a JSON object of Zoom's")
	}
	own, object := message.Payload.fields, message.Payload.Object
	_, kind, _ := strings.Cut(message.Event, ".")
	event := Event{Kind: Kind(kind), PlainToken: message.Payload.PlainToken, StopReason: cmp.Or(own.StopReason, object.StopReason)}
	if message.Event == string(Validation) {
		event.Kind = Validation
	}
	number := cmp.Or(strings.Trim(string(own.MeetingID), `"`), strings.Trim(string(object.MeetingID), `"`), strings.Trim(string(object.ID), `"`))
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		number = ""
	}
	event.Stream = Stream{
		ID:          cmp.Or(own.StreamID, object.StreamID),
		MeetingUUID: cmp.Or(own.MeetingUUID, object.MeetingUUID, own.SessionID, object.SessionID, object.UUID),
		Number:      number, ServerURLs: cmp.Or(own.ServerURLs, object.ServerURLs), Topic: cmp.Or(own.Topic, object.Topic),
	}
	for _, text := range []string{event.PlainToken, event.Stream.ID, event.Stream.MeetingUUID, event.Stream.ServerURLs} {
		if len(text) > maxField || strings.ContainsRune(text, 0) {
			return Event{}, errors.New("a field of the event is too long, or has a NUL character")
		}
	}
	if (event.Kind == Started || event.Kind == Stopped) && (event.Stream.ID == "" || event.Kind == Started && event.Stream.MeetingUUID == "") {
		return Event{}, errors.New("the event names no stream")
	}
	return event, nil
}

// fields are the fields of an event.
type fields struct {
	MeetingUUID string          `json:"meeting_uuid"`
	SessionID   string          `json:"session_id"`
	UUID        string          `json:"uuid"`
	MeetingID   json.RawMessage `json:"meeting_id"` // a number or a text
	ID          json.RawMessage `json:"id"`
	StreamID    string          `json:"rtms_stream_id"`
	ServerURLs  string          `json:"server_urls"`
	Topic       string          `json:"topic"`
	StopReason  int             `json:"stop_reason"`
}
