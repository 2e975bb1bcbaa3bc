package zoomsdk

import (
	"context"
	"fmt"
	"time"

	"standin/internal/bot/meeting"
)

// graceTime is how long the SDK may be disconnected before that is called a
// lost connection: why a meeting ended is told a moment after.
const graceTime = 5 * time.Second

// The states of the SDK's own list that matter here.
const (
	statusDisconnected = 3
	statusReconnecting = 4
)

// The reasons of the SDK's own list for which it left a meeting. The others say
// that the bot left.
const (
	endedByHost     = 1
	movedElsewhere  = 5
	removed         = 6
	removedFromWait = 7
)

// report is what the page tells at one moment.
type report struct {
	Scheme string `json:"scheme"` // of a page that is not the bot's own
	Host   string `json:"host"`

	Ready      bool     `json:"ready"`
	Asked      bool     `json:"asked"`
	Left       bool     `json:"left"` // the page after the meeting
	Status     int      `json:"status"`
	Waiting    bool     `json:"waiting"`
	HostAbsent bool     `json:"hostAbsent"`
	Trouble    *trouble `json:"trouble"`
	End        *struct {
		Code int `json:"code"`
	} `json:"end"`
	DisconnectedMs int64 `json:"disconnectedMs"`
	Isolated       bool  `json:"isolated"`

	InMeeting bool     `json:"inMeeting"` // the bot is in the SDK's own list
	OwnID     string   `json:"ownID"`
	Unmuted   bool     `json:"unmuted"`
	People    []person `json:"people"`

	Permission meeting.Permission `json:"permission"`
	Recorded   bool               `json:"recorded"`
	Chat       []message          `json:"chat"`
	Shown      shown              `json:"shown"`
}

// trouble is a call of the SDK that failed for good.
type trouble struct {
	During string `json:"during"` // init, ticket or join
	Code   int    `json:"code"`
	Text   string `json:"text"`
}

// String is for people.
func (t trouble) String() string {
	switch {
	case t.Code == 0:
		return fmt.Sprintf("the SDK's %s failed: %s", t.During, t.Text)
	case t.Text == "":
		return fmt.Sprintf("the SDK's %s failed with its error %d", t.During, t.Code)
	}
	return fmt.Sprintf("the SDK's %s failed with its error %d: %s", t.During, t.Code, t.Text)
}

// person is somebody else in the meeting.
type person struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Speaking bool   `json:"speaking"`
}

// message is one of the chat's.
type message struct {
	ID       string `json:"id"`
	Author   string `json:"author"`
	AuthorID string `json:"authorID"`
	Text     string `json:"text"`
}

// shown is what stands on the page that the SDK's interface does not tell.
type shown struct {
	EndDialog     bool   `json:"endDialog"`
	RemovedDialog bool   `json:"removedDialog"`
	SignIn        bool   `json:"signIn"`
	Captcha       bool   `json:"captcha"`
	Form          bool   `json:"form"`
	AudioButton   bool   `json:"audioButton"`
	Heading       string `json:"heading"`
}

// lookScript yields a report, also on a page that is not the bot's own.
const lookScript = `(async () => window.standinZoom ? window.standinZoom.look() : {scheme: location.protocol, host: location.host})()`

// look returns what the page tells.
func look(ctx context.Context, page meeting.Page) (report, error) {
	var r report
	if err := page.Eval(ctx, lookScript, &r); err != nil {
		return report{}, fmt.Errorf("looking at the page of Zoom's Meeting SDK: %w", err)
	}
	return r, nil
}

// classify tells which screen a report means, and by what it is recognised. An
// end comes before what the page told until then, and the waiting room before
// the meeting.
func (r report) classify() (meeting.Screen, string) {
	if r.Scheme != "" {
		return r.elsewhere()
	}
	if screen, evidence := r.ending(); screen != meeting.Unknown {
		return screen, evidence
	}
	switch {
	case r.Trouble != nil:
		return troubleScreen(*r.Trouble), r.Trouble.String()
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
		return meeting.BotWall, fmt.Sprintf("a form of the SDK that a person has to fill in, %q", r.Shown.Heading)
	case r.Ready && !r.Asked:
		return meeting.PreJoin, "the SDK has started"
	}
	return meeting.Unknown, ""
}

// elsewhere is for a page that is not the bot's own. The SDK goes to other
// pages, such as a survey, only after a meeting.
func (r report) elsewhere() (meeting.Screen, string) {
	switch r.Scheme {
	case "chrome-error:":
		return meeting.CannotConnect, "the browser's own error page"
	case "https:":
		return meeting.Ended, "the SDK went to a page of " + r.Host
	}
	return meeting.Unknown, ""
}

// ending tells how the meeting ended for the bot, or Unknown while it did not.
func (r report) ending() (meeting.Screen, string) {
	if r.End != nil {
		evidence := fmt.Sprintf("the SDK's event: left for its reason %d", r.End.Code)
		switch r.End.Code {
		case removed:
			return meeting.Removed, evidence
		case removedFromWait:
			return meeting.Denied, evidence
		case endedByHost, movedElsewhere:
			return meeting.Ended, evidence
		}
	}
	switch {
	case r.Shown.RemovedDialog:
		return meeting.Removed, fmt.Sprintf("the SDK's dialog %q", r.Shown.Heading)
	case r.Shown.EndDialog:
		return meeting.Ended, fmt.Sprintf("the SDK's dialog %q", r.Shown.Heading)
	case r.Trouble != nil && !r.Left:
		return meeting.Unknown, "" // it says more than the disconnection that comes with it
	case r.End != nil:
		return meeting.Ended, fmt.Sprintf("the SDK's event: left for its reason %d", r.End.Code)
	case r.Left:
		return meeting.Ended, "the page after the meeting"
	case r.Status != statusDisconnected || r.HostAbsent: // a join that comes too early ends in a disconnection
		return meeting.Unknown, ""
	case time.Duration(r.DisconnectedMs)*time.Millisecond < graceTime:
		return meeting.Reconnecting, "the SDK's status: disconnected"
	}
	return meeting.CannotConnect, "the SDK's status: disconnected, and it gives no reason"
}

// observation is what a report means.
func (r report) observation() meeting.Observation {
	o := meeting.Observation{Others: -1, Permission: r.Permission, Recorded: r.Recorded, Dialog: r.Shown.Heading}
	o.Screen, o.Evidence = r.classify()
	for _, m := range r.Chat {
		o.Chat = append(o.Chat, meeting.ChatMessage{
			ID: m.ID, Author: m.Author, Text: m.Text, Own: r.OwnID != "" && m.AuthorID == r.OwnID,
		})
	}
	if o.Screen != meeting.InMeeting {
		return o
	}
	o.Others = len(r.People)
	for _, p := range r.People {
		o.Participants = append(o.Participants, meeting.Participant{ID: p.ID, Name: p.Name, Speaking: p.Speaking})
	}
	if r.Shown.AudioButton {
		o.Notices = append(o.Notices, noticeAudio)
	}
	if r.Unmuted {
		o.Notices = append(o.Notices, noticeUnmuted)
	}
	return o
}
