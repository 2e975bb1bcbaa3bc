package report

import (
	"encoding/json"
	"log/slog"

	"standin/internal/bot/meeting"
	"standin/internal/bot/serviceclient"
	"standin/internal/jobs/job"
)

// Emitter emits lifecycle events. Those that occur once in an attempt are
// emitted once, even if the bot rejoins.
type Emitter struct {
	log     *slog.Logger
	client  *serviceclient.Client
	emitted map[job.Trigger]bool

	screens []meeting.Decision // decisions since the last event
	screen  meeting.Decision   // the last one
}

// maxScreens limits the decisions in the data of one event. The oldest are
// dropped.
const maxScreens = 20

// AddScreen adds a decision on what the page shows to the data of the next event,
// unless nothing changed.
func (e *Emitter) AddScreen(decision meeting.Decision) {
	if decision.SameAs(e.screen) {
		return
	}
	e.screen = decision
	e.screens = append(e.screens, decision)
	e.screens = e.screens[max(0, len(e.screens)-maxScreens):]
}

// NewEmitter returns the emitter of an attempt.
func NewEmitter(log *slog.Logger, client *serviceclient.Client) *Emitter {
	return &Emitter{log: log, client: client, emitted: make(map[job.Trigger]bool)}
}

// Emit writes an event to the spool, from where it is sent.
func (e *Emitter) Emit(kind job.Trigger, data any) error {
	switch kind {
	case job.BotJoined, job.BotEnteringLobby, job.BotInMeeting, job.BotRecordingStopped:
		if e.emitted[kind] {
			return nil
		}
		e.emitted[kind] = true
	}
	e.log.Info("lifecycle", "kind", kind)
	data, err := e.withScreens(data)
	if err != nil {
		return err
	}
	return e.client.Emit(kind, data)
}

// withScreens adds the decisions since the last event to an event's data, as the
// key screens.
func (e *Emitter) withScreens(data any) (any, error) {
	if len(e.screens) == 0 {
		return data, nil
	}
	var keys map[string]any
	encoded, err := json.Marshal(data)
	if err == nil {
		err = json.Unmarshal(encoded, &keys)
	}
	if err != nil {
		return nil, err
	}
	if keys == nil { // there are no data
		keys = make(map[string]any)
	}
	keys["screens"] = e.screens
	e.screens = nil
	return keys, nil
}
