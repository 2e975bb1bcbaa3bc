package meeting

import (
	"crypto/sha256"
	"fmt"
	"time"

	"standin/internal/base/text"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// Observation is what a page showed at one moment.
type Observation struct {
	Screen   Screen
	Evidence string // what the screen was recognized by, for people
	Reasons  []Evidence
	// Pending is a terminal screen that has to last before it counts. Until then
	// Screen is Unknown.
	Pending Screen
	// Closed is set when the bot was admitted, and the page itself ended the call: it
	// closed its connections, and shows something else, which is Unknown.
	Closed bool
	Reload bool // HandleNotices loads the page again, because it does not change otherwise

	Participants  []Participant  // those that the page shows, without the bot
	Rows          []RosterEntry  // of the list of people, as it was last read, with the bot
	SpeechSources []SpeechSource // what is known of who speaks; empty when nothing is
	// Marked has the ids of those whom the page marks as speaking when the levels of all
	// audio are 0, which players that are muted have too.
	Marked []string
	// Counted is set when the page itself counts the participants.
	Counted bool
	// TrackOwners lists the tracks that exactly one participant's tile plays.
	// Pages that play all sound in one element have none.
	TrackOwners []TrackOwner
	// Others is the number of others in the meeting. It may exceed the number of
	// Participants, because pages draw only some of them. It is -1 when the page
	// does not show it.
	Others int

	Microphone, Camera, ScreenShare DeviceState

	Permission Permission    // as far as the page shows it
	Chat       []ChatMessage // while the chat is open, oldest first
	ChatOpen   bool
	Captions   []CaptionLine // oldest first
	CaptionsOn bool

	Texts   []ingest.Text // of a platform that names their participants and times: since the last observation
	Revoked bool          // with Removed: what was recorded must be deleted
	Refusal string        // in the words of the platform, in place of those of the screen

	Notices     []string      // elements of the profile that HandleNotices would act on
	CloseDialog *DialogAction // closes a dialog that the profile does not know

	Captured *CapturedSnapshot // what was classified; nil where no page is read

	tiles    []tileRole // the tiles that the page shows, in the meeting
	tileList int        // number of their list on the page
}

// maxEvidence limits the texts of evidence in an Observation, in characters. Package ingest
// has the limits of what participants write.
const maxEvidence = 500

// cleanID is the form in which an Observation has a participant's ID.
func cleanID(id string) string { return text.CleanLine(id, ingest.MaxAuthorCharacters) }

// Clean makes the texts of the page safe to store and to show: participants write
// most of them. Every adapter calls it once for each observation.
func (o *Observation) Clean() {
	o.Evidence = text.CleanLine(o.Evidence, maxEvidence)
	for i := range o.Reasons {
		o.Reasons[i].What = text.CleanLine(o.Reasons[i].What, maxEvidence)
	}
	for i := range o.Participants {
		p := &o.Participants[i]
		p.ID, p.Name = cleanID(p.ID), text.CleanLine(p.Name, ingest.MaxAuthorCharacters)
	}
	for i := range o.Marked {
		o.Marked[i] = cleanID(o.Marked[i])
	}
	for i := range o.TrackOwners {
		o.TrackOwners[i].ParticipantID = cleanID(o.TrackOwners[i].ParticipantID)
	}
	for i := range o.Chat {
		m := &o.Chat[i]
		m.Author, m.Text = text.CleanLine(m.Author, ingest.MaxAuthorCharacters), text.Clean(m.Text, ingest.MaxTextCharacters)
		if len(m.ID) > ingest.MaxAuthorCharacters {
			m.ID = fmt.Sprintf("%x", sha256.Sum256([]byte(m.ID)))
		}
	}
	for i := range o.Captions {
		c := &o.Captions[i]
		c.Author, c.Text = text.CleanLine(c.Author, ingest.MaxAuthorCharacters), text.CleanLine(c.Text, ingest.MaxTextCharacters)
	}
}

// Decision returns the screen and its evidence, for a timeline or a capture.
func (o Observation) Decision(at time.Time) Decision {
	decision := Decision{At: at, Screen: o.Screen, Pending: o.Pending, Evidence: o.Reasons, Accepted: o.accepted()}
	if len(decision.Evidence) == 0 && o.Evidence != "" {
		decision.Evidence = []Evidence{{Kind: EvidenceText, What: o.Evidence, Weight: minWeight}}
	}
	return decision
}

// accepted returns the text of the notice that the bot accepts on this observation: that the
// meeting is recorded, or that a third party gets its media.
func (o Observation) accepted() string {
	presses := o.CloseDialog != nil && o.CloseDialog.Button >= 0 ||
		len(o.Notices) > 0 && (o.Notices[0] == acceptNotice || o.Notices[0] == joinInDialog)
	if !presses || o.Captured == nil {
		return ""
	}
	over := o.Captured.Snapshot.Over
	if over == nil || over.gate() == noButton && !isRecordingNotice(*over) {
		return ""
	}
	return text.CleanLine(over.Text, maxEvidence)
}

// AdmissionProof is the proof that the bot was admitted. Only an observation of the
// meeting yields one.
type AdmissionProof struct{}

// Admission returns the proof that the observation holds, or nil.
func (o Observation) Admission(at time.Time) *AdmissionProof {
	if o.Screen != InMeeting || totalWeight(o.Decision(at).Evidence) < minWeight {
		return nil
	}
	return new(AdmissionProof)
}

// Failure is Screen.Failure with the evidence of the observation.
func (o Observation) Failure() (code job.FailureCode, detail string, ok bool) {
	code, detail, ok = o.Screen.Failure()
	switch {
	case o.Refusal != "":
		detail = o.Refusal
	case ok && o.Evidence != "":
		detail += " Seen: " + o.Evidence + "."
	}
	return code, detail, ok
}

// Participant is another participant of the meeting.
type Participant struct {
	ID       string // stable while the participant stays
	Name     string // empty when the page does not show it
	Speaking bool
}

// TrackOwner names the participant whose tile plays a track.
type TrackOwner struct {
	Track         string // the page's track ID
	ParticipantID string
}

// ChatMessage is a message in the page's chat.
type ChatMessage struct {
	ID     string // stable while the message stays
	Author string // empty when the page does not show it
	Text   string
	Own    bool // the bot wrote it
}

// AskMethod is how the host was asked for permission to record.
type AskMethod string

// The ways to ask.
const (
	AskByPage AskMethod = "page" // the platform's own request
	AskByChat AskMethod = "chat"
)

// Permission is the host's answer to the platform's own request.
type Permission string

// The answers that a page shows.
const (
	NoAnswer Permission = ""
	Granted  Permission = "granted"
	Refused  Permission = "refused"
)
