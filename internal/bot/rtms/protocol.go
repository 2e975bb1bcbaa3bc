// Package rtms is a bot's way into a Zoom meeting without a browser: Realtime Media Streams. Zoom sends
// everybody's sound, the active speaker's video, shared screens, chat and transcript over WebSockets, with
// the person of every packet. A Meeting connects to them and says who is there; a Recording writes them.
package rtms

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"standin/internal/base/text"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
)

// Types of messages. A response has the type of its request plus 1. Those of media follow typeAudio in the order of media.
const (
	typeSignalingRequest  = 1
	typeMediaRequest      = 3
	typeEvent             = 6
	typeReady             = 7
	typeStreamState       = 8
	typeSessionState      = 9
	typeKeepAlive         = 12
	typeKeepAliveResponse = 13
	typeAudio             = 14
	typeClose             = 21
)

// The media, in the order of their messages.
const (
	audio = iota
	video
	share
	transcript
	chat
)

const allMedia = 32

// Types of events.
const (
	eventSpeaker     = 2
	eventJoined      = 3
	eventLeft        = 4
	eventShareStart  = 5
	eventShareStop   = 6
	streamTerminated = 4 // state of a stream
	sessionStopped   = 5 // state of a session
)

// request is a message of the client.
type request struct {
	Type        int    `json:"msg_type"`
	Version     int    `json:"protocol_version,omitempty"`
	Sequence    int    `json:"sequence,omitempty"`
	MeetingUUID string `json:"meeting_uuid,omitempty"`
	StreamID    string `json:"rtms_stream_id,omitempty"`
	Signature   string `json:"signature,omitempty"`
	MediaType   int    `json:"media_type,omitempty"`
	MediaParams any    `json:"media_params,omitempty"`
	Timestamp   int64  `json:"timestamp,omitempty"`
}

// subscription asks for the events below.
const subscription = `{"msg_type": 5, "events": [{"event_type": 2, "subscribe": true}, {"event_type": 3, "subscribe": true},
	{"event_type": 4, "subscribe": true}, {"event_type": 5, "subscribe": true}, {"event_type": 6, "subscribe": true}]}`

// message is a message of the server.
type message struct {
	Type        int             `json:"msg_type"`
	Status      int             `json:"status_code"`
	Reason      json.RawMessage `json:"reason"` // a number in updates, a text in responses
	StopReason  int             `json:"stop_reason"`
	State       int             `json:"state"`
	Timestamp   int64           `json:"timestamp"`
	MediaServer struct {
		ServerURLs struct{ All string } `json:"server_urls"`
	} `json:"media_server"`
	Event struct {
		person
		Type         int      `json:"event_type"`
		Timestamp    int64    `json:"timestamp"`
		Participants []person `json:"participants"`
	} `json:"event"`
	Content content `json:"content"`
}

// person is a participant in a message.
type person struct {
	ID   userID `json:"user_id"`
	Name string `json:"user_name"`
}

// content is a packet of media, or a text.
type content struct {
	person
	Data      string `json:"data"` // base64 for media
	Timestamp int64  `json:"timestamp"`
	StartTime int64  `json:"start_time"`
	EndTime   int64  `json:"end_time"`
	Language  *int   `json:"language"`
}

// userID is the ID of a participant, which is a number or a text; "" for nobody.
type userID string

// UnmarshalJSON implements json.Unmarshaler.
func (u *userID) UnmarshalJSON(data []byte) error {
	if id := strings.Trim(string(data), `"`); id != "0" && id != "null" {
		*u = userID(text.CleanLine(id, ingest.MaxAuthorCharacters))
	}
	return nil
}

// refusal is a status of a handshake that is not 0.
type refusal int

// Statuses that are treated apart. An unknown stream has ended, or never began.
const (
	unknownStream  refusal = 2
	wrongSignature refusal = 3
)

// statuses are the status codes in words, from 0 on.
var statuses = strings.Split(`accepted
the type of the message is unknown
the stream is unknown or has ended
the signature is wrong: the client secret is not that of the app with the client ID
the message is malformed
the list of events is invalid
the type of an event is invalid
the type of the media is invalid
there is another signaling connection
the app may not receive sound
the app may not receive video
the app may not receive shared screens
the app may not receive transcripts
the app may not receive chat
the value of the media type is invalid
there is another connection for all media
there is another connection for this medium
the media parameters are invalid
the sound parameters are invalid
the content type of the sound is invalid
the sample rate is invalid
the channels are invalid
the codec of the sound is invalid
the option of the sound is invalid
the send rate is invalid
the video parameters are invalid
the content type of the video is invalid
the codec of the video is invalid
the resolution of the video is invalid
the option of the video is invalid
the frame rate of the video is invalid
the parameters of the shared screen are invalid
the content type of the shared screen is invalid
the codec of the shared screen is invalid
the resolution of the shared screen is invalid
the frame rate of the shared screen is invalid
the transcript parameters are invalid
the content type of the transcript is invalid
the chat parameters are invalid
the content type of the chat is invalid
the session is unknown
the readiness is invalid
the subscription to events is invalid
the language of the transcript is invalid
there is another subscription to a video
Zoom had an internal error`, "\n")

// Error says what the status means.
func (r refusal) Error() string {
	words := "the status is not documented"
	if r > 0 && int(r) < len(statuses) {
		words = statuses[r]
	}
	return fmt.Sprintf("Zoom refuses the connection: %s (status %d)", words, int(r))
}

// temporary reports whether another try may succeed: an older connection has not ended yet, or Zoom failed.
func (r refusal) temporary() bool { return r == 8 || r == 15 || r == 16 || r == 45 }

// stopReason is why a stream ends.
type stopReason int

// revoked is the reason of a stream of which everything recorded must be deleted.
const revoked stopReason = 8

// stops are the reasons in words, from 0 on.
var stops = strings.Split(`Zoom gave no reason
the host stopped the stream
the user of the app stopped the stream
the user of the app left the meeting
the user of the app was removed from the meeting
the host disabled the app
the meeting ended
a participant canceled the stream
the stream was revoked, and what was recorded must be deleted
the host disabled all apps
Zoom had an internal error
the connection timed out
Zoom's connection to the meeting was interrupted
the signaling connection was interrupted
a media connection was interrupted
the signaling connection was closed abnormally
a media connection was closed abnormally
Zoom's server was stopped
Zoom could not authenticate the app
the connection was not restored in time
the bot closed the stream
the customer disconnected
the agent disconnected
an administrator disabled the app
three requests to keep the connection were not answered
the stream was stopped by Zoom's interface
the queue does not support streams`, "\n")

// Error says what the reason means.
func (s stopReason) Error() string {
	return fmt.Sprintf("%s (reason %d)", stops[max(0, min(int(s), len(stops)-1))], int(s))
}

// screenOf returns what an end means for the meeting; "" if the bot connects again, because the meeting may go on.
func screenOf(err error) meeting.Screen {
	refused, isRefusal := errors.AsType[refusal](err)
	reason, isReason := errors.AsType[stopReason](err)
	switch {
	case isRefusal && refused == unknownStream:
		return meeting.Ended
	case isRefusal && refused == wrongSignature:
		return meeting.SignInWall
	case isRefusal:
		return meeting.BotWall
	case !isReason || reason >= 10 && reason <= 17 || reason == 24:
		return ""
	case slices.Contains([]stopReason{1, 2, 4, 5, 7, revoked, 9, 18, 23}, reason):
		return meeting.Removed
	}
	return meeting.Ended
}

// languages are the languages of transcripts, in the order of Zoom's numbers.
var languages = strings.Fields(`ar bn yue ca zh-CN zh-TW cs da nl en et fi fr-CA fr-FR de he hi hu id it ja ko ms fa pl pt ro ru es sv tl ta te
	th tr uk vi`)
