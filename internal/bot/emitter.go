package bot

import (
	"fmt"
	"log/slog"

	"standin/internal/bot/serviceclient"
	"standin/internal/job"
)

// emitter emits lifecycle events. Those that occur once in an attempt are
// emitted once, even if the bot rejoins.
type emitter struct {
	log     *slog.Logger
	client  *serviceclient.Client
	emitted map[job.Trigger]bool
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
	if err := e.client.Emit(kind, data); err != nil {
		return fmt.Errorf("emit %s: %w", kind, err)
	}
	return nil
}

// emitOrExit is emit for a session, which ends if the event cannot be stored.
func (e *emitter) emitOrExit(kind job.Trigger, data any) *exitResult {
	if err := e.emit(kind, data); err != nil {
		return internalError(err)
	}
	return nil
}
