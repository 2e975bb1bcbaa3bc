package bot

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"standin/internal/bot/meeting"
	"standin/internal/bot/serviceclient"
	"standin/internal/job"
)

// emitter emits lifecycle events. Those that occur once in an attempt are
// emitted once, even if the bot rejoins.
type emitter struct {
	log     *slog.Logger
	client  *serviceclient.Client
	emitted map[job.Trigger]bool

	screens []meeting.Decision // since the last event
	screen  meeting.Decision   // the last one
}

// maxScreens limits the decisions in the data of one event. The oldest are
// dropped.
const maxScreens = 20

// addScreen adds a decision on what the page shows to the data of the next event,
// unless nothing changed.
func (e *emitter) addScreen(decision meeting.Decision) {
	if decision.SameAs(e.screen) {
		return
	}
	e.screen = decision
	e.screens = append(e.screens, decision)
	e.screens = e.screens[max(0, len(e.screens)-maxScreens):]
}

func newEmitter(log *slog.Logger, client *serviceclient.Client) *emitter {
	return &emitter{log: log, client: client, emitted: make(map[job.Trigger]bool)}
}

// emit writes an event to the spool, from where it is sent.
func (e *emitter) emit(kind job.Trigger, data any) error {
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
	if err := e.client.Emit(kind, data); err != nil {
		return fmt.Errorf("emit %s: %w", kind, err)
	}
	return nil
}

// withScreens adds the decisions since the last event to an event's data, as the
// key screens.
func (e *emitter) withScreens(data any) (any, error) {
	if len(e.screens) == 0 {
		return data, nil
	}
	keys := make(map[string]any)
	encoded, err := json.Marshal(data)
	if err == nil {
		err = json.Unmarshal(encoded, &keys) // null leaves it empty
	}
	if err != nil {
		return nil, fmt.Errorf("encode the data of an event: %w", err)
	}
	if keys == nil {
		keys = make(map[string]any)
	}
	keys["screens"] = e.screens
	e.screens = nil
	return keys, nil
}

// emitOrExit is emit for a session, which ends if the event cannot be stored.
func (e *emitter) emitOrExit(kind job.Trigger, data any) *exitResult {
	if err := e.emit(kind, data); err != nil {
		return internalError(err)
	}
	return nil
}
