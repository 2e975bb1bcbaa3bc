package simulator

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// version is the version of simulated bots. It marks the manifests of
// simulated recordings.
const version = "simulator"

// speakingTime is how long one of the imaginary participants speaks before the
// other.
const speakingTime = 5 * time.Second

// silence is how long nobody speaks before the next participant does.
const silence = speakingTime / 10

// timeline is when the meeting was recorded.
type timeline struct {
	parts    []ingest.RecordingPart
	running  bool
	pausedAt time.Time // zero unless paused
	gaps     []ingest.Gap
}

func (t *timeline) started() bool { return len(t.parts) > 0 }

func (t *timeline) start(at time.Time) {
	t.parts = append(t.parts, ingest.RecordingPart{Number: len(t.parts), StartedAt: at, Segments: 1})
	t.running, t.pausedAt = true, time.Time{}
}

// stop ends the recording, and the pause if it is paused.
func (t *timeline) stop(at time.Time) {
	if !t.pausedAt.IsZero() {
		t.gaps = append(t.gaps, ingest.Gap{From: t.pausedAt, To: at, Reason: recording.GapPaused})
		t.pausedAt = time.Time{}
	}
	if t.running {
		t.end(at, "")
	}
}

func (t *timeline) end(at time.Time, reason string) {
	last := &t.parts[len(t.parts)-1]
	last.EndedAt, last.Complete, last.EndedBy = at, true, reason
	t.running = false
}

func endOf(part ingest.RecordingPart, now time.Time) time.Time {
	if part.EndedAt.IsZero() {
		return now
	}
	return part.EndedAt
}

// people returns the two participants of every imaginary meeting.
func people(from, to time.Time) []ingest.Person {
	return []ingest.Person{
		{ID: "host", Name: "Simulated Host", JoinedAt: from, LeftAt: to},
		{ID: "guest", Name: "Simulated Guest", JoinedAt: from, LeftAt: to},
	}
}

// speech returns the participants' alternating turns.
func (t *timeline) speech(now time.Time) []ingest.Speech {
	speakers := [...]string{"host", "guest"}
	var speech []ingest.Speech
	for _, part := range t.parts {
		end := endOf(part, now)
		for from := part.StartedAt; from.Before(end); from = from.Add(speakingTime) {
			to := from.Add(speakingTime - silence)
			if to.After(end) {
				to = end
			}
			speech = append(speech, ingest.Speech{PersonID: speakers[len(speech)%len(speakers)], From: from, To: to})
		}
	}
	return speech
}

// reportInterval is how often a bot reports who speaks in the imaginary meeting, and its
// texts.
const reportInterval = time.Second

// attend waits in the meeting and reports who speaks, and its texts, meanwhile.
func (b *bot) attend(ctx context.Context, length time.Duration) error {
	end := b.clock.now().Add(length)
	for {
		b.showRoster()
		left := end.Sub(b.clock.now())
		if left <= 0 {
			return nil
		}
		err := b.wait(ctx, min(left, reportInterval))
		if sendErr := b.sendTexts(ctx); sendErr != nil {
			return sendErr
		}
		if err != nil {
			return err
		}
	}
}

// showRoster passes the participants to sendRosters if another one speaks than before.
func (b *bot) showRoster() {
	now := b.clock.now()
	roster := &ingest.LiveRoster{}
	speaker := ""
	// Participants are heard while the recording runs, and if there is none.
	if speech := b.speech(now); (b.timeline.running || b.withoutRecording()) && len(speech) > 0 {
		if last := speech[len(speech)-1]; now.Before(last.From.Add(speakingTime - silence)) {
			speaker = last.PersonID
		}
	}
	for _, person := range people(b.admittedAt, b.leftAt) {
		roster.Participants = append(roster.Participants, ingest.LiveParticipant{
			ID: person.ID, Name: person.Name, Speaking: person.ID == speaker,
		})
	}
	if reflect.DeepEqual(roster, b.roster) {
		return
	}
	b.roster = roster
	select {
	case <-b.rosters: // one that was not sent yet
	default:
	}
	b.rosters <- roster
}

// sendTexts reports the texts of the last two participants who spoke: their
// captions grow while they speak.
func (b *bot) sendTexts(ctx context.Context) error {
	if !b.chat && !b.captions {
		return nil
	}
	now := b.clock.now()
	speech := b.speech(now)
	var texts []ingest.Text
	for i := max(0, len(speech)-2); i < len(speech); i++ {
		texts = append(texts, b.textsOf(i, speech[i], now)...)
	}
	if len(texts) == 0 {
		return nil
	}
	message := ingest.Texts{Texts: texts}
	err := retryRequest(ctx, func() error {
		_, err := b.settings.Service.IngestTexts(ctx, b.sender(), message)
		return err
	})
	if err != nil {
		return fmt.Errorf("report texts: %w", err)
	}
	return nil
}

// textsOf returns the texts of one interval of speech at a time.
func (b *bot) textsOf(number int, speech ingest.Speech, now time.Time) []ingest.Text {
	names := map[string]string{}
	for _, person := range people(b.admittedAt, b.leftAt) {
		names[person.ID] = person.Name
	}
	text := ingest.Text{
		ID: fmt.Sprintf("speech-%d", number), Kind: job.CaptionText, ParticipantID: speech.PersonID, Author: names[speech.PersonID],
		Language: cmp.Or(b.assignment.Options.Captions.Language, "en-US"), StartedAt: speech.From, EndedAt: speech.To,
	}
	var texts []ingest.Text
	if b.captions {
		words := strings.Fields(fmt.Sprintf("This is sentence %d of the simulated meeting.", number+1))
		spoken := min(int(2*now.Sub(speech.From)/time.Second)+1, len(words))
		if now.After(speech.To) {
			spoken = len(words)
		}
		text.Text = strings.Join(words[:spoken], " ")
		texts = append(texts, text)
	}
	if b.chat {
		text.Kind, text.Language, text.EndedAt = job.ChatText, "", text.StartedAt
		text.Text = fmt.Sprintf("Message %d of the simulated chat <b>without markup</b>", number+1)
		texts = append(texts, text)
	}
	return texts
}
