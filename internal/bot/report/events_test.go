package report

import (
	"encoding/json"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
)

// TestScreensInEvents checks that the data of an event carries the screens since
// the event before it, with their evidence, and its own keys.
func TestScreensInEvents(t *testing.T) {
	t.Parallel()
	events := NewEmitter(nil, nil)
	at := time.Unix(0, 0).UTC()
	lobby := meeting.Decision{At: at, Screen: meeting.Lobby, Evidence: []meeting.Evidence{
		{Kind: meeting.EvidenceText, What: `text "Asking to be let in"`, Where: "screens.lobby[0]", Weight: 2},
	}}
	inMeeting := meeting.Decision{At: at, Screen: meeting.InMeeting}
	for _, decision := range []meeting.Decision{lobby, lobby, inMeeting} {
		events.AddScreen(decision)
	}
	type carried struct {
		Screens []meeting.Decision `json:"screens"`
		ingest.EventData
	}
	decode := func(data any) (got carried) {
		t.Helper()
		with, err := events.withScreens(data)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(with)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := decode(ingest.EventData{Detail: "kept"})
	if len(got.Screens) != 2 || got.Screens[0].Evidence[0] != lobby.Evidence[0] || got.Screens[1].Screen != meeting.InMeeting ||
		got.Detail != "kept" {
		t.Errorf("the data is %+v", got)
	}
	if again := decode(nil); len(again.Screens) != 0 {
		t.Errorf("the next event repeats %+v", again.Screens)
	}
	for range maxScreens + 5 {
		events.AddScreen(lobby)
		events.AddScreen(inMeeting)
	}
	if many := decode(nil); len(many.Screens) != maxScreens || many.Screens[maxScreens-1].Screen != meeting.InMeeting {
		t.Errorf("%d screens are kept, want the last %d", len(many.Screens), maxScreens)
	}
}
