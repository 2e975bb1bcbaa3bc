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
	Number int // counts from 1 within the meeting
	At     time.Time
	Kind   EventKind
	Guest  string
	// Text is a chat message, a notice, the name of a pinned participant, the state of
	// a device ("on" or "off"), or the findings of a hostile page.
	Text string
}

// EventKind is the kind of an Event: one of the following, or a State except
// StatePreJoin, which means that the guest entered that state.
type EventKind string

// Event kinds that are not states.
const (
	EventOpened          EventKind = "opened"   // the page was opened
	EventVanished        EventKind = "vanished" // the page was closed without leaving
	EventMediaConnected  EventKind = "media_connected"
	EventMediaLost       EventKind = "media_lost"
	EventMicrophone      EventKind = "microphone"
	EventCamera          EventKind = "camera"
	EventSharing         EventKind = "sharing" // the guest's screen
	EventNoticeAccepted  EventKind = "notice_accepted"
	EventChat            EventKind = "chat" // the guest sent a message
	EventPinned          EventKind = "pinned"
	EventPermissionAsked EventKind = "permission_asked" // the page requested permission to record
	EventDisconnected    EventKind = "disconnected"
	EventReconnected     EventKind = "reconnected"
	EventReloading       EventKind = "reloading"
	EventProbeFinished   EventKind = "probed"     // a hostile page made all its attempts
	EventTrapReached     EventKind = "trespassed" // an attempt of a hostile page succeeded
)

// maxEvents is the number of events that a meeting keeps.
const maxEvents = 4096

// record adds an event. The caller holds the lock.
func (m *Meeting) record(kind EventKind, guest, text string) {
	m.eventCount++
	m.events = append(m.events, Event{Number: m.eventCount, At: time.Now(), Kind: kind, Guest: guest, Text: text})
	if len(m.events) > maxEvents {
		m.events = slices.Delete(m.events, 0, len(m.events)-maxEvents)
	}
	m.log.Debug("meeting event", "meeting", m.settings.Code, "kind", kind, "guest", guest)
}

// Events returns all events, oldest first.
func (m *Meeting) Events() []Event {
	events, _ := m.eventsAfter(0)
	return events
}

// eventsAfter returns the events after the given number and a channel that is closed
// at the next change.
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

// Wait returns the first event of a kind, which may already have happened.
func (m *Meeting) Wait(ctx context.Context, kind EventKind) (Event, error) {
	event, err := m.WaitFor(ctx, func(event Event) bool { return event.Kind == kind })
	if err != nil {
		return Event{}, fmt.Errorf("wait for %s: %w", kind, err)
	}
	return event, nil
}

// WaitFor returns the first matching event, which may already have happened. Its
// error lists the events until then.
func (m *Meeting) WaitFor(ctx context.Context, match func(Event) bool) (Event, error) {
	for last := 0; ; {
		events, changed := m.eventsAfter(last)
		for _, event := range events {
			if match(event) {
				return event, nil
			}
			last = event.Number
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("meeting %s: %w; events: %s", m.settings.Code, ctx.Err(), m.eventSummary())
		}
	}
}

// eventSummary lists the kinds of all events.
func (m *Meeting) eventSummary() string {
	var kinds []string
	for _, event := range m.Events() {
		kinds = append(kinds, event.Guest+" "+string(event.Kind))
	}
	if len(kinds) == 0 {
		return "nothing"
	}
	return strings.Join(kinds, ", ")
}
