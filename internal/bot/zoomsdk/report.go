package zoomsdk

import (
	"context"
	"fmt"
	"time"

	"standin/internal/bot/meeting"
)

// disconnectedTimeout is how long the SDK may be disconnected before the
// connection counts as lost. The SDK reports the reason of an end a moment after
// the disconnection.
const disconnectedTimeout = 5 * time.Second

// The SDK's connection states that matter here.
const (
	statusDisconnected = 3
	statusReconnecting = 4
)

// The SDK's reasons for leaving a meeting. The others mean that the bot left.
const (
	reasonEndedByHost      = 1
	reasonMoved            = 5
	reasonRemoved          = 6
	reasonRemovedFromLobby = 7
)

// report is the state of the page at one moment.
type report struct {
	Scheme, Host string // set only on a page that is not the bot's own

	Ready, Joining bool // Joining: join was called
	Left           bool // the page after the meeting

	Waiting, HostAbsent bool
	Status              int
	Failure             *failure
	End                 *struct{ Code int }
	DisconnectedMs      int64

	InMeeting, Unmuted bool // InMeeting: the bot is in the SDK's own list
	OwnID              string
	People             []person

	Permission meeting.Permission
	Chat       []message
	Shown      shownParts
}

// failure is a call of the SDK that failed permanently.
type failure struct {
	During string // init, ticket or join
	Code   int    // the SDK's own; 0 when it gave none
	Text   string // the SDK's own message
}

// String returns a text for people.
func (f failure) String() string {
	switch {
	case f.Code == 0:
		return fmt.Sprintf("the SDK's %s failed: %s", f.During, f.Text)
	case f.Text == "":
		return fmt.Sprintf("the SDK's %s failed with its error %d", f.During, f.Code)
	}
	return fmt.Sprintf("the SDK's %s failed with its error %d: %s", f.During, f.Code, f.Text)
}

// person is another participant of the meeting.
type person struct {
	ID, Name string
	Speaking bool
}

// message is a chat message.
type message struct {
	ID, Author, AuthorID, Text string
}

// shownParts is what the page shows that the SDK's interface does not report.
type shownParts struct {
	EndDialog, RemovedDialog, SignIn, Captcha, Form, AudioButton bool
	Heading                                                      string
}

// reportScript returns a report, also on a page that is not the bot's own.
const reportScript = `(async () => window.standinZoom ? window.standinZoom.report() : {scheme: location.protocol, host: location.host})()`

// readReport returns the state of the page.
func readReport(ctx context.Context, page meeting.Page) (report, error) {
	var r report
	if err := page.EvalInPage(ctx, reportScript, &r); err != nil {
		return report{}, fmt.Errorf("read the page of Zoom's Meeting SDK: %w", err)
	}
	return r, nil
}

// classify returns the screen that a report means, and its evidence. An end comes
// before the state that preceded it, and the waiting room before the meeting.
func (r report) classify() (meeting.Screen, string) {
	if r.Scheme != "" { // the SDK opens other pages, such as a survey, only after a meeting
		switch r.Scheme {
		case "chrome-error:":
			return meeting.CannotConnect, "the browser's own error page"
		case "https:":
			return meeting.Ended, "the SDK opened a page of " + r.Host
		}
		return meeting.Unknown, ""
	}
	if screen, evidence := r.ended(); screen != meeting.Unknown {
		return screen, evidence
	}
	switch {
	case r.Failure != nil:
		return failureScreen(*r.Failure), r.Failure.String()
	case r.Waiting:
		return meeting.Lobby, "the SDK's event: in the waiting room"
	case r.Status == statusReconnecting:
		return meeting.Reconnecting, "the SDK's status: reconnecting"
	case r.InMeeting:
		return meeting.InMeeting, "the SDK lists the bot among the participants"
	case r.HostAbsent:
		return meeting.HostAbsent, "the SDK: the meeting has not started"
	case r.Shown.SignIn:
		return meeting.SignInWall, fmt.Sprintf("the SDK's form for signing in, %q", r.Shown.Heading)
	case r.Shown.Captcha:
		return meeting.BotWall, fmt.Sprintf("the SDK's captcha, %q", r.Shown.Heading)
	case r.Shown.Form:
		return meeting.BotWall, fmt.Sprintf("a form of the SDK that requires a person, %q", r.Shown.Heading)
	case r.Ready && !r.Joining:
		return meeting.PreJoin, "the SDK has started"
	}
	return meeting.Unknown, ""
}

// ended returns the screen of a meeting that ended for the bot, or Unknown.
func (r report) ended() (meeting.Screen, string) {
	if r.End != nil {
		evidence := fmt.Sprintf("the SDK's event: left for its reason %d", r.End.Code)
		switch r.End.Code {
		case reasonRemoved:
			return meeting.Removed, evidence
		case reasonRemovedFromLobby:
			return meeting.Denied, evidence
		case reasonEndedByHost, reasonMoved:
			return meeting.Ended, evidence
		}
	}
	switch {
	case r.Shown.RemovedDialog:
		return meeting.Removed, fmt.Sprintf("the SDK's dialog %q", r.Shown.Heading)
	case r.Shown.EndDialog:
		return meeting.Ended, fmt.Sprintf("the SDK's dialog %q", r.Shown.Heading)
	case r.Failure != nil && !r.Left:
		return meeting.Unknown, "" // the failure is more specific than the disconnection that comes with it
	case r.End != nil:
		return meeting.Ended, fmt.Sprintf("the SDK's event: left for its reason %d", r.End.Code)
	case r.Left:
		return meeting.Ended, "the page after the meeting"
	case r.Status != statusDisconnected || r.HostAbsent: // a join before the meeting starts ends in a disconnection
		return meeting.Unknown, ""
	case time.Duration(r.DisconnectedMs)*time.Millisecond < disconnectedTimeout:
		return meeting.Reconnecting, "the SDK's status: disconnected"
	}
	return meeting.CannotConnect, "the SDK's status: disconnected, without a reason"
}

// observation interprets a report.
func (r report) observation() meeting.Observation {
	o := meeting.Observation{Others: -1, Permission: r.Permission}
	o.Screen, o.Evidence = r.classify()
	for _, m := range r.Chat {
		o.Chat = append(o.Chat, meeting.ChatMessage{
			ID: m.ID, Author: m.Author, Text: m.Text, Own: r.OwnID != "" && m.AuthorID == r.OwnID,
		})
	}
	if o.Screen == meeting.InMeeting {
		o.Others = len(r.People)
		o.SpeechSources = []meeting.SpeechSource{meeting.SpeechByPage} // the SDK reports active speakers
		for _, p := range r.People {
			o.Participants = append(o.Participants, meeting.Participant{ID: p.ID, Name: p.Name, Speaking: p.Speaking})
		}
		if r.Shown.AudioButton {
			o.Notices = append(o.Notices, noticeAudio)
		}
		if r.Unmuted {
			o.Notices = append(o.Notices, noticeUnmuted)
		}
	}
	o.Clean()
	return o
}
