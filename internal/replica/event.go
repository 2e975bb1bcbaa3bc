package replica

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Event is something that happened to a guest.
type Event struct {
	Number int       `json:"number"` // counts from 1 within the meeting
	At     time.Time `json:"at"`
	Kind   EventKind `json:"kind"`
	Guest  string    `json:"guest"`
	// Text is a chat message, a notice, a pinned participant's name, or "on" or
	// "off" of a device; what a hostile page tried, and where.
	Text string `json:"text,omitempty"`
}

// EventKind says what happened. Every State but StatePreJoin is one too: the
// guest came to that state.
type EventKind string

// Kinds that are no state.
const (
	EventOpened          EventKind = "opened"   // the page is there
	EventVanished        EventKind = "vanished" // the page went away without Leave call
	EventReturned        EventKind = "returned" // a vanished page is back
	EventMediaConnected  EventKind = "media_connected"
	EventMediaLost       EventKind = "media_lost"
	EventMicrophone      EventKind = "microphone"
	EventCamera          EventKind = "camera"
	EventNoticeAccepted  EventKind = "notice_accepted"
	EventChat            EventKind = "chat" // the guest wrote
	EventPinned          EventKind = "pinned"
	EventPermissionAsked EventKind = "permission_asked" // to record, by the page's own request
	EventDisconnected    EventKind = "disconnected"
	EventReconnected     EventKind = "reconnected"
	EventReloading       EventKind = "reloading"
	EventProbeFinished   EventKind = "probed"     // a hostile page has tried everything
	EventTrapReached     EventKind = "trespassed" // and this is what it reached
)

// most events that a meeting remembers; older ones are forgotten.
const eventMemory = 4096

// record notes an event; the caller holds the lock.
func (m *Meeting) record(kind EventKind, guest, text string) {
	m.eventCount++
	m.events = append(m.events, Event{Number: m.eventCount, At: time.Now(), Kind: kind, Guest: guest, Text: text})
	if len(m.events) > eventMemory {
		m.events = slices.Delete(m.events, 0, len(m.events)-eventMemory)
	}
	m.log.Debug("meeting event", "meeting", m.settings.Code, "kind", kind, "guest", guest)
}

// Events returns what happened so far, oldest first.
func (m *Meeting) Events() []Event {
	events, _ := m.eventsAfter(0)
	return events
}

// eventsAfter returns later events than the numbered one, and a channel that is
// closed at the next change.
func (m *Meeting) eventsAfter(number int) ([]Event, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var later []Event
	for _, event := range m.events {
		if event.Number > number {
			later = append(later, event)
		}
	}
	return later, m.changed
}

// Wait returns the first event of a kind, at once if it has happened already.
func (m *Meeting) Wait(ctx context.Context, kind EventKind) (Event, error) {
	event, err := m.WaitFor(ctx, func(event Event) bool { return event.Kind == kind })
	if err != nil {
		return Event{}, fmt.Errorf("wait for %s: %w", kind, err)
	}
	return event, nil
}

// WaitFor returns the first event that matches, at once if it has happened
// already. Its error tells what did happen.
func (m *Meeting) WaitFor(ctx context.Context, match func(Event) bool) (Event, error) {
	for seen := 0; ; {
		events, changed := m.eventsAfter(seen)
		for _, event := range events {
			if match(event) {
				return event, nil
			}
			seen = event.Number
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("meeting %s: %w; until then: %s", m.settings.Code, ctx.Err(), m.story())
		}
	}
}

// story lists the kinds of all events, for the message of a failing test.
func (m *Meeting) story() string {
	var kinds []string
	for _, event := range m.Events() {
		kinds = append(kinds, event.Guest+" "+string(event.Kind))
	}
	if len(kinds) == 0 {
		return "nothing"
	}
	return strings.Join(kinds, ", ")
}
