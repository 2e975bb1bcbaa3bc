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
// or else the captions, in the order in which they began. Later texts replace earlier ones with the same ID.
func (s session) liveWords(ctx context.Context, id string) (words, error) {
	starts := make(map[string]time.Time) // of states
	names := make(map[string]string)     // of participants, by ID
	latest := make(map[string]liveText)  // by kind and ID
	transcribed := false                 // there is a live transcript
	var w words
	for event, err := range s.api.LiveSoFar(ctx, id, "") {
		if err != nil {
			return words{}, err
		}
		switch event.Name {
		case "state":
			var state struct {
				Status string
				At     time.Time
			}
			err = json.Unmarshal(event.Data, &state)
			starts[state.Status] = cmp.Or(starts[state.Status], state.At)
		case "participants":
			var present struct{ Participants []struct{ ID, Name string } }
			err = json.Unmarshal(event.Data, &present)
			for _, p := range present.Participants {
				names[p.ID] = quote(p.Name, maxName)
			}
		case "speaking":
			var speaking struct{ ParticipantIDs []string }
			err = json.Unmarshal(event.Data, &speaking)
			w.speaking = []string{}
			for _, id := range speaking.ParticipantIDs[:min(len(speaking.ParticipantIDs), maxParticipants)] {
				w.speaking = append(w.speaking, cmp.Or(names[id], "Unknown speaker"))
			}
		case "caption", "chat":
			text := liveText{chat: event.Name == "chat"}
			err = json.Unmarshal(event.Data, &text.LiveText)
			latest[event.Name+" "+text.ID] = text
		case "transcript":
			var heard client.LiveTranscript
			err = json.Unmarshal(event.Data, &heard)
			transcribed = true
			latest[event.Name+" "+heard.ID] = liveText{LiveText: client.LiveText{
				ID: heard.ID, Author: heard.Speaker, Text: heard.Text, StartedAt: heard.StartedAt, EndedAt: heard.EndedAt,
			}}
		}
		if err != nil {
			return words{}, fmt.Errorf("read the event %s: %w", event.Name, err)
		}
	}
	if transcribed {
		maps.DeleteFunc(latest, func(key string, _ liveText) bool { return strings.HasPrefix(key, "caption ") })
	}
	sorted := slices.SortedFunc(maps.Values(latest), func(a, b liveText) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.ID, b.ID))
	})
	if len(sorted) == 0 {
		return w, nil
	}
	start := cmp.Or(starts["recording_started"], starts["in_meeting"], sorted[0].StartedAt)
	for _, text := range sorted {
		if text.Text == "" {
			continue // a correction can remove it
		}
		said := quote(cmp.Or(quote(text.Author, maxName), "Unknown speaker")+": "+text.Text, maxLine)
		w.lines = append(w.lines, line{max(0, text.StartedAt.Sub(start)), said, text.chat})
		w.heard = w.heard || !text.chat
	}
	w.end = time.Since(start)
	return w, nil
}

// liveText is a caption, a part of the transcript, or a chat message.
type liveText struct {
	client.LiveText
	chat bool
}
