package bot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/serviceclient"
	"standin/internal/ingest"
	"standin/internal/job"
)

const (
	// textInterval is how often changed texts are written to the spool.
	textInterval = time.Second
	// maxTextBatch limits the JSON of a batch, in bytes.
	maxTextBatch = 128 << 10
	// showTextsPause is the pause after a failure to open the chat or to turn on
	// captions. It grows with each failure, up to maxShowTextsPause.
	showTextsPause    = 5 * time.Second
	maxShowTextsPause = 5 * time.Minute
	// maxChatMessages limits the messages of an attempt that are remembered.
	maxChatMessages = 50_000
)

// texts reads the chat and the captions of the meeting, and reports them while the
// meeting is recorded. It outlives a browser.
type texts struct {
	log         *slog.Logger
	client      *serviceclient.Client
	clock       *clock
	displayName string
	language    string // of captions; empty if unknown or not available
	wanted      meeting.TextOptions

	captions   captionTracker
	chat       chatMessages
	changed    []ingest.Text // messages to report
	reportedAt time.Time

	showing  bool      // the page is being prepared
	showAt   time.Time // when it is prepared again
	failures int
}

// chatMessages are the messages of the chat by the hash of the page's ID.
type chatMessages map[[sha256.Size]byte]chatText

// chatText is a message of the chat.
type chatText struct {
	id       string
	text     string
	at       time.Time
	reported bool // false for messages from a time that is not recorded
}

// show opens the chat and turns on captions, as wanted, if the page does not show
// them.
func (t *texts) show(ctx context.Context, page *meetingPage, now time.Time) {
	seen := page.last.seen
	missing := t.wanted.Chat && !seen.ChatOpen || t.wanted.Captions && !seen.CaptionsOn
	if !missing || seen.Screen != meeting.InMeeting || now.Before(t.showAt) || t.showing {
		return
	}
	t.showing = true
	page.pageQueue.add(ctx, task{
		name: "show chat and captions", timeout: page.timeouts.Command,
		do: func(ctx context.Context) error { return page.adapter.ShowTexts(ctx, page.tab, t.wanted) },
		onDone: func(ctx context.Context, err error) *exitResult {
			t.showing = false
			pause := showTextsPause
			if language := (*meeting.LanguageError)(nil); errors.As(err, &language) {
				t.log.Warn("captions are in the language of the page", "error", err)
				t.language, t.wanted.Language, err = "", "", nil
			}
			if err == nil {
				t.failures = 0
			} else if ctx.Err() == nil {
				t.failures++
				pause = min(showTextsPause<<min(t.failures, 10), maxShowTextsPause)
				t.log.Warn("chat or captions are not available", "error", err, "retry_in", pause)
			}
			t.showAt = time.Now().Add(pause)
			return nil
		},
	})
}

// handleSnapshot updates the texts from a page snapshot of the meeting. Without
// recorded, the texts are ignored: pauses and refusals apply to them too.
func (t *texts) handleSnapshot(snap snapshot, recorded bool) {
	at := t.clock.convert(snap.at)
	for _, message := range snap.seen.Chat {
		t.addMessage(message, snap.seen.Participants, at, recorded)
	}
	t.captions.update(snap.seen.Captions, onlySpeaker(snap.seen.Participants), at)
	if !recorded {
		for u := range t.captions.inElement {
			u.dropped = true
		}
	}
	if snap.at.Sub(t.reportedAt) >= textInterval {
		t.reportedAt = snap.at
		t.report(snap.seen.Participants)
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

// addMessage adds a message of the chat, unless it is known.
func (t *texts) addMessage(message meeting.ChatMessage, participants []meeting.Participant, at time.Time, recorded bool) {
	author := message.Author
	if message.Own {
		author = t.displayName
	}
	key := sha256.Sum256([]byte(message.ID))
	known, ok := t.chat[key]
	if ok && (known.text == message.Text || !known.reported) || !ok && len(t.chat) >= maxChatMessages {
		return
	}
	if !ok {
		// IDs sort in the order of the messages, for those that are seen at the same time.
		known.id, known.at, known.reported = fmt.Sprintf("m-%08d", len(t.chat)), at, recorded
	}
	known.text = message.Text
	t.chat[key] = known
	if known.reported {
		t.changed = append(t.changed, ingest.Text{
			ID: known.id, Kind: job.ChatText, ParticipantID: participantID(author, participants), Author: truncateRunes(author, ingest.MaxAuthorCharacters),
			Text: truncateRunes(message.Text, ingest.MaxTextCharacters), StartedAt: known.at, EndedAt: known.at,
		})
	}
}

// report writes the texts that have changed to the spool. Texts that do not fit
// are dropped: a full disk must not end the recording.
func (t *texts) report(participants []meeting.Participant) {
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
				ID: u.segmentID(i), Kind: job.CaptionText, ParticipantID: participantID(u.speaker, participants),
				Author: truncateRunes(u.speaker, ingest.MaxAuthorCharacters), Text: truncateRunes(s.text, ingest.MaxTextCharacters),
				Language: t.language, StartedAt: s.startedAt, EndedAt: s.endAt,
			})
		}
	}
	t.captions.forget()
	for _, batch := range textBatches(changed) {
		if err := t.client.ReportTexts(batch); err != nil {
			t.log.Error("store chat and captions; they are lost", "texts", len(batch), "error", err)
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
		if id != "" || len(p.ID) > ingest.MaxAuthorCharacters {
			return ""
		}
		id = p.ID
	}
	return id
}

func truncateRunes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit])
	}
	return text
}
