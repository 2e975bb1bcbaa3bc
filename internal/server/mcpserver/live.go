package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"standin/client"
)

// liveWords returns what was said and written so far: chat messages, and the live transcript,
// or else the captions.
func (s session) liveWords(ctx context.Context, id string) (words, error) {
	read := liveEvents{starts: map[string]time.Time{}, names: map[string]string{}, latest: map[string]liveText{}}
	for event, err := range s.api.LiveSoFar(ctx, id, "") {
		if err != nil {
			return words{}, err
		}
		if err := read.add(event); err != nil {
			return words{}, fmt.Errorf("read the event %s: %w", event.Name, err)
		}
	}
	return read.words(), nil
}

// liveEvents are the events of a job that have been read.
type liveEvents struct {
	starts      map[string]time.Time // of states
	names       map[string]string    // of participants, by ID
	speaking    []string             // names of those who speak; nil if that is unknown
	latest      map[string]liveText  // by kind and ID
	transcribed bool                 // there is a live transcript
}

// liveText is a caption, a part of the transcript, or a chat message.
type liveText struct {
	client.LiveText
	chat bool
}

// add adds an event. Later texts replace earlier ones with the same ID.
func (e *liveEvents) add(event client.LiveEvent) error {
	switch event.Name {
	case "state":
		var state struct {
			Status string
			At     time.Time
		}
		if err := json.Unmarshal(event.Data, &state); err != nil {
			return err
		}
		e.starts[state.Status] = cmp.Or(e.starts[state.Status], state.At)
	case "participants":
		var present struct{ Participants []struct{ ID, Name string } }
		if err := json.Unmarshal(event.Data, &present); err != nil {
			return err
		}
		for _, p := range present.Participants {
			e.names[p.ID] = quote(p.Name, maxName)
		}
	case "speaking":
		var speaking struct{ ParticipantIDs []string }
		if err := json.Unmarshal(event.Data, &speaking); err != nil {
			return err
		}
		e.speaking = []string{}
		for _, id := range speaking.ParticipantIDs[:min(len(speaking.ParticipantIDs), maxParticipants)] {
			e.speaking = append(e.speaking, cmp.Or(e.names[id], "Unknown speaker"))
		}
	case "caption", "chat":
		text := liveText{chat: event.Name == "chat"}
		if err := json.Unmarshal(event.Data, &text.LiveText); err != nil {
			return err
		}
		e.latest[event.Name+" "+text.ID] = text
	case "transcript":
		var heard client.LiveTranscript
		if err := json.Unmarshal(event.Data, &heard); err != nil {
			return err
		}
		e.transcribed = true
		e.latest[event.Name+" "+heard.ID] = liveText{LiveText: client.LiveText{
			ID: heard.ID, Author: heard.Speaker, Text: heard.Text, StartedAt: heard.StartedAt, EndedAt: heard.EndedAt,
		}}
	}
	return nil
}

// words returns the texts in the order in which they began.
func (e *liveEvents) words() words {
	w := words{speaking: e.speaking}
	if e.transcribed {
		maps.DeleteFunc(e.latest, func(key string, _ liveText) bool { return strings.HasPrefix(key, "caption ") })
	}
	sorted := slices.SortedFunc(maps.Values(e.latest), func(a, b liveText) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.ID, b.ID))
	})
	if len(sorted) == 0 {
		return w
	}
	start := cmp.Or(e.starts["recording_started"], e.starts["in_meeting"], sorted[0].StartedAt)
	for _, text := range sorted {
		if text.Text == "" {
			continue // a correction can remove it
		}
		said := quote(cmp.Or(quote(text.Author, maxName), "Unknown speaker")+": "+text.Text, maxLine)
		w.lines = append(w.lines, line{max(0, text.StartedAt.Sub(start)), said, text.chat})
		w.heard = w.heard || !text.chat
	}
	w.end = time.Since(start)
	return w
}
