package meeting

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/replica"
)

// insideRows pins a participant, asks the host for permission and reads the chat, in
// one visit.
func insideRows(replicaPlatform replica.Platform) []row {
	ask := askByChat
	if replicaPlatform == replica.Zoom {
		ask = func(t *testing.T, s env, meeting *replica.Meeting, page *browser.Page) {
			askByPage(t, s, meeting, page, true)
		}
	}
	rows := []row{{"pin, permission, chat", func(t *testing.T, s env) {
		meeting, page := s.inside(t, replica.Settings{Framed: s.replicaPlatform == replica.Zoom})
		testPin(t, s, meeting, page)
		ask(t, s, meeting, page)
		testChat(t, s, meeting, page)
	}}}
	if replicaPlatform == replica.Zoom {
		rows = append(rows, row{"permission refused", func(t *testing.T, s env) {
			meeting, page := s.inside(t, replica.Settings{})
			askByPage(t, s, meeting, page, false)
		}})
	}
	return rows
}

// testPin checks that a participant is pinned once.
func testPin(t *testing.T, s env, meeting *replica.Meeting, page *browser.Page) {
	t.Helper()
	observation := s.await(t, page, "the others", func(o Observation) bool { return len(o.Participants) == 2 && len(o.Notices) == 0 })
	position := slices.IndexFunc(observation.Participants, func(one Participant) bool { return one.Name == "Ben Okafor" })
	if err := s.site.Pin(s.ctx, page, observation.Participants[position]); err != nil {
		s.report(t, page)
		t.Fatalf("pinning: %v", err)
	}
	event, err := meeting.Wait(s.ctx, replica.EventPinned)
	if err != nil || event.Text != "Ben Okafor" {
		t.Errorf("pinned %q, %v", event.Text, err)
	}
	if pinned := countEvents(meeting, replica.EventPinned); pinned != 1 {
		t.Errorf("%d participants were pinned", pinned)
	}
	var absent *ParticipantNotFoundError
	if err := s.site.Pin(s.ctx, page, Participant{ID: "nobody", Name: "Nobody"}); !errors.As(err, &absent) {
		t.Errorf("pinning somebody who is not there: %v", err)
	}
}

// askByPage asks the host on the page and checks that the answer is observed.
func askByPage(t *testing.T, s env, meeting *replica.Meeting, page *browser.Page, granted bool) {
	t.Helper()
	asking, err := s.site.AskPermission(s.ctx, page, "Standin")
	if err != nil || asking != AskByPage {
		s.report(t, page)
		t.Fatalf("asking: %q, %v", asking, err)
	}
	if _, err := meeting.Wait(s.ctx, replica.EventPermissionAsked); err != nil {
		t.Fatal(err)
	}
	observation := s.await(t, page, "the meeting", on(InMeeting))
	if observation.Permission != NoAnswer {
		t.Errorf("before the host answered the answer is %q", observation.Permission)
	}
	meeting.AnswerPermission(granted)
	want := Refused
	if granted {
		want = Granted
	}
	observation = s.await(t, page, "the answer", func(o Observation) bool { return o.Permission != NoAnswer })
	if observation.Permission != want || observation.Screen != InMeeting {
		t.Errorf("the answer is %q on screen %s, want %q", observation.Permission, observation.Screen, want)
	}
	if err := s.site.ClosePermissionRequest(s.ctx, page); err != nil {
		t.Errorf("closing the request: %v", err)
	}
	s.await(t, page, "no notice of the answer", func(o Observation) bool { return o.Permission == NoAnswer })
}

// askByChat asks the participants in the chat and checks that the answer is observed.
func askByChat(t *testing.T, s env, meeting *replica.Meeting, page *browser.Page) {
	t.Helper()
	asking, err := s.site.AskPermission(s.ctx, page, "Standin")
	if err != nil || asking != AskByChat {
		s.report(t, page)
		t.Fatalf("asking: %q, %v", asking, err)
	}
	observation := s.await(t, page, "the question", func(o Observation) bool { return len(o.Chat) > 0 })
	if question := observation.Chat[0]; !question.Own || !strings.Contains(question.Text, "Standin") ||
		!strings.Contains(question.Text, `"yes"`) {
		t.Errorf("the question reads %+v", question)
	}
	if err := meeting.Say("Ada Quill", "Yes"); err != nil {
		t.Fatal(err)
	}
	observation = s.await(t, page, "the answer", func(o Observation) bool { return len(o.Chat) > 1 })
	if answer := observation.Chat[1]; answer.Own || answer.Author != "Ada Quill" || answer.Text != "Yes" ||
		answer.ID == observation.Chat[0].ID {
		t.Errorf("the answer reads %+v", answer)
	}
	if err := s.site.ClosePermissionRequest(s.ctx, page); err != nil {
		t.Fatalf("closing the chat: %v", err)
	}
	s.await(t, page, "no chat", func(o Observation) bool { return len(o.Chat) == 0 })
}

// TestRequestSteps runs the steps of the page's request, snapshot by snapshot.
func TestRequestSteps(t *testing.T) {
	t.Parallel()
	now := time.Unix(100, 0)
	var progress requestSteps
	shows := func(elements ...string) Snapshot {
		snapshot := Snapshot{Elements: map[string]VisibleElement{}}
		for _, element := range elements {
			snapshot.Elements[element] = VisibleElement{}
		}
		return snapshot
	}
	for i, moment := range []struct {
		after    time.Duration
		snapshot Snapshot
		answered bool
		want     step
	}{
		{0, shows(), false, step{kind: stepReveal}},
		{0, shows(moreButton), false, step{kind: stepPress, element: moreButton}},
		{0, shows(moreButton), false, step{kind: stepWait}},
		{0, shows(moreButton, recordButton), false, step{kind: stepPress, element: recordButton}},
		{0, shows(moreButton), false, step{kind: stepWait}},
		{pressAgainTime, shows(moreButton), false, step{kind: stepPress, element: moreButton}},
		{0, shows(moreButton, requestPermission, closePermission), false, step{kind: stepPress, element: requestPermission}},
		{0, shows(moreButton, requestPermission, closePermission), false, step{kind: stepWait}},
		{0, shows(moreButton), false, step{kind: stepDone}},
	} {
		now = now.Add(moment.after)
		if got := progress.next(moment.snapshot, moment.answered, now); got != moment.want {
			t.Fatalf("at moment %d the step is %+v, want %+v", i, got, moment.want)
		}
	}
	if got := new(requestSteps).next(shows(moreButton), true, now); got.kind != stepDone {
		t.Errorf("when the answer is there already the step is %+v", got)
	}
}
