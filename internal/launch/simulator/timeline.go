package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// version is the version of simulated bots. It marks the manifests of
// simulated recordings.
const version = "simulator"

// timeline is when the meeting was recorded.
type timeline struct {
	parts    []ingest.RecordingPart
	running  bool
	pausedAt time.Time // zero unless paused
	gaps     []ingest.Gap
}

func (t *timeline) started() bool { return len(t.parts) > 0 }

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

// people returns the participants of every simulated meeting.
func people(from, to time.Time) (people []ingest.Person) {
	for _, t := range turns() {
		if !slices.ContainsFunc(people, func(p ingest.Person) bool { return p.ID == t.Person }) {
			people = append(people, ingest.Person{ID: t.Person, Name: t.Name, JoinedAt: from, LeftAt: to})
		}
	}
	return people
}

// said is a turn at its time in a visit.
type said struct {
	turn
	number   int
	from, to time.Time
}

// said returns what was said until now while the meeting was recorded, as the recording has it.
func (t *timeline) said(now time.Time) (all []said) {
	for _, part := range t.parts {
		end := endOf(part, now)
		origin := t.parts[0].StartedAt
		for round := int(part.StartedAt.Sub(origin) / meetingLength); ; round++ {
			began := origin.Add(time.Duration(round) * meetingLength)
			if !began.Before(end) {
				break
			}
			for i, one := range turns() {
				from, to := began.Add(time.Duration(one.StartMs)*time.Millisecond), began.Add(time.Duration(one.EndMs)*time.Millisecond)
				if to.After(part.StartedAt) && from.Before(end) {
					all = append(all, said{
						one, round*len(turns()) + i,
						job.Latest(from, part.StartedAt), slices.MinFunc([]time.Time{to, end}, time.Time.Compare),
					})
				}
			}
		}
	}
	return all
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
		if sendErr := errors.Join(b.sendTexts(ctx), b.sendPicture(ctx)); sendErr != nil {
			return sendErr
		}
		if err != nil {
			return err
		}
	}
}

// showRoster reports the participants, by run, if another one speaks than before.
func (b *bot) showRoster() {
	now := b.clock.now()
	roster := &ingest.LiveRoster{}
	speaker := ""
	// Participants are heard while the recording runs, and if there is none.
	if said := b.said(now); (b.timeline.running || b.withoutRecording()) && len(said) > 0 {
		if last := said[len(said)-1]; !now.After(last.to) {
			speaker = last.Person
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

// sendTexts reports the texts of the last two turns: a caption grows while it is spoken.
func (b *bot) sendTexts(ctx context.Context) error {
	if !b.chat && !b.captions {
		return nil
	}
	said := b.said(b.clock.now())
	var texts []ingest.Text
	for _, one := range said[max(0, len(said)-2):] {
		texts = append(texts, b.textsOf(one)...)
	}
	if len(texts) == 0 {
		return nil
	}
	err := retryRequest(ctx, func() error {
		_, err := b.Service.IngestTexts(ctx, b.sender(), ingest.Texts{Texts: texts})
		return err
	})
	if err != nil {
		return fmt.Errorf("report texts: %w", err)
	}
	return nil
}

// sendPicture sends a picture of the meeting if somebody watches.
func (b *bot) sendPicture(ctx context.Context) error {
	if !b.watched.Load() {
		return nil
	}
	number := 0 // of the last turn that was said, or of the first
	if said := b.said(b.clock.now()); len(said) > 0 {
		number = said[len(said)-1].number % len(turns())
	}
	image, err := pictures.ReadFile(fmt.Sprintf("pictures/%02d.jpg", number+1))
	if err == nil {
		err = b.Service.SaveScreenshot(ctx, b.sender(), image)
	}
	if err != nil && !errors.As(err, new(*job.Error)) { // the next one may do
		return fmt.Errorf("send a picture: %w", err)
	}
	return nil
}

// textsOf returns the caption of a turn as far as it is spoken, and its chat message.
func (b *bot) textsOf(one said) (texts []ingest.Text) {
	text := ingest.Text{
		ID: fmt.Sprintf("turn-%d", one.number), Kind: job.CaptionText, ParticipantID: one.Person, Author: one.Name,
		Language: cmp.Or(b.assignment.Options.Captions.Language, "en-US"), StartedAt: one.from, EndedAt: one.to,
	}
	if b.captions {
		words := strings.Fields(one.Text)
		whole := time.Duration(one.EndMs-one.StartMs) * time.Millisecond
		spoken := min(len(words), 1+int(one.to.Sub(one.from)*time.Duration(len(words))/whole))
		text.Text = strings.Join(words[:spoken], " ")
		texts = append(texts, text)
	}
	if b.chat && one.Chat != "" {
		text.Kind, text.Language, text.EndedAt, text.Text = job.ChatText, "", text.StartedAt, one.Chat
		texts = append(texts, text)
	}
	return texts
}
