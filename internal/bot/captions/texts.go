// Package captions makes texts of what a meeting's page shows of the chat and of
// live captions: each message and each utterance once, in its last version.
package captions

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"standin/internal/base/text"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/serviceclient"
	"standin/internal/jobs/job"
)

const (
	// textInterval is how often changed texts are written to the spool.
	textInterval = time.Second
	// maxTextBatch limits the JSON of a batch, in bytes.
	maxTextBatch = 128 << 10
)

// Texts reads the chat and the captions of the meeting from page snapshots, and
// reports them while the meeting is recorded. It outlives a browser.
type Texts struct {
	log         *slog.Logger
	client      *serviceclient.Client
	displayName string
	language    string // language of captions; empty if unknown or not available

	captions   tracker
	chat       chatMessages
	changed    []ingest.Text // messages to report
	reportedAt time.Time
}

// New returns the texts of an attempt. displayName is the author of the bot's own
// messages, and language that of the captions, BCP 47 or empty.
func New(log *slog.Logger, client *serviceclient.Client, displayName, language string) *Texts {
	displayName = text.CleanLine(displayName, ingest.MaxAuthorCharacters)
	return &Texts{log: log, client: client, displayName: displayName, language: language, chat: make(chatMessages)}
}

// SetLanguage sets the language of captions from now on.
func (t *Texts) SetLanguage(language string) { t.language = language }

// chatMessages are the messages of the chat by the page's ID.
type chatMessages map[string]chatText

// chatText is a message of the chat.
type chatText struct {
	id       string
	sum      [sha256.Size]byte // of its text
	at       time.Time
	reported bool // false for messages from a time that is not recorded
}

// Update updates the texts from what a page showed at a time on the report's clock.
// Without recorded, the texts are ignored: pauses and refusals apply to them too.
func (t *Texts) Update(seen meeting.Observation, at time.Time, recorded bool) {
	for _, message := range seen.Chat {
		author := message.Author
		if message.Own {
			author = t.displayName
		}
		known, ok := t.chat[message.ID]
		sum := sha256.Sum256([]byte(message.Text))
		if ok && (known.sum == sum || !known.reported) || !ok && len(t.chat) >= ingest.MaxChatMessages {
			continue // it is known, or one too many
		}
		if !ok {
			// IDs sort in the order of the messages, for those that are seen at the same time.
			known.id, known.at, known.reported = fmt.Sprintf("m-%08d", len(t.chat)), at, recorded
		}
		known.sum = sum
		t.chat[message.ID] = known
		if known.reported {
			t.changed = append(t.changed, ingest.Text{
				ID: known.id, Kind: job.ChatText, ParticipantID: participantID(author, seen.Participants), Author: author,
				Text: message.Text, StartedAt: known.at, EndedAt: known.at,
			})
		}
	}
	t.captions.update(seen.Captions, onlySpeaker(seen.Participants), at)
	if !recorded {
		for u := range t.captions.inElement {
			u.dropped = true
		}
	}
	if at.Sub(t.reportedAt) >= textInterval {
		t.reportedAt = at
		t.Report(seen.Participants)
	}
}

// Add adds texts that a platform sent with their participants. clock converts their times to the report's clock.
func (t *Texts) Add(added []ingest.Text, clock func(time.Time) time.Time, recorded bool) {
	for _, text := range added {
		if recorded {
			text.StartedAt, text.EndedAt = clock(text.StartedAt), clock(text.EndedAt)
			t.changed = append(t.changed, text)
		}
	}
}

// onlySpeaker returns the name of the participant who is the only one to speak, or
// "".
func onlySpeaker(participants []meeting.Participant) (name string) {
	for _, p := range participants {
		switch {
		case p.Speaking && name != "":
			return ""
		case p.Speaking:
			name = p.Name
		}
	}
	return name
}

// Report writes the texts that have changed to the spool. Texts that do not fit
// are dropped: a full disk must not end the recording.
func (t *Texts) Report(participants []meeting.Participant) {
	changed := t.changed
	t.changed = nil
	for _, u := range t.captions.recent {
		for i := range u.segments {
			s := &u.segments[i]
			if u.dropped || s.text == s.reported {
				continue
			}
			s.reported = s.text
			changed = append(changed, ingest.Text{
				// IDs sort in the order of the segments, for those that begin at the same time.
				ID: fmt.Sprintf("c-%08d-%04d", u.number, i), Kind: job.CaptionText, ParticipantID: participantID(u.speaker, participants),
				Author: u.speaker, Text: text.Cut(s.text, ingest.MaxTextCharacters),
				Language: t.language, StartedAt: s.startedAt, EndedAt: s.endAt,
			})
		}
	}
	// Old utterances are forgotten that are not shown.
	excess := len(t.captions.recent) - maxUtterances
	t.captions.recent = slices.DeleteFunc(t.captions.recent, func(u *utterance) bool {
		excess--
		return excess >= 0 && !t.captions.inElement[u]
	})
	for _, batch := range textBatches(changed) {
		if err := t.client.ReportTexts(batch); err != nil {
			t.log.Error("cannot store chat and captions; they are lost", "texts", len(batch), "error", err)
		}
	}
}

// textBatches divides texts into batches for the spool.
func textBatches(all []ingest.Text) (batches [][]ingest.Text) {
	var batch []ingest.Text
	size := 0
	for _, text := range all {
		encoded, _ := json.Marshal(text) // strings and times always encode
		if len(batch) == ingest.MaxTextsPerRequest || len(batch) > 0 && size+len(encoded) > maxTextBatch {
			batches, batch, size = append(batches, batch), nil, 0
		}
		batch, size = append(batch, text), size+len(encoded)
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// participantID returns the ID of the only participant with a name, or "".
func participantID(name string, participants []meeting.Participant) (id string) {
	for _, p := range participants {
		if name == "" || p.Name != name {
			continue
		}
		if id != "" {
			return ""
		}
		id = p.ID
	}
	return id
}
