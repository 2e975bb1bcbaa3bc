package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"standin/internal/account"
)

// Controls tells the bot of a job what to do; each verb returns the id of the
// command that it queued (specification, Endpoints; contract, Jobs). A job that
// is missing or another's gives a *job.Error with NotFound, one whose bot takes
// no commands any more InvalidState.
type Controls interface {
	RequestRecordingPermission(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	PauseRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	ResumeRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	StopRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	LeaveCall(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	SendChatMessage(ctx context.Context, caller account.Caller, id uuid.UUID, text string) (uuid.UUID, error)
	PinParticipant(ctx context.Context, caller account.Caller, id uuid.UUID, participantID string) (uuid.UUID, error)
}

// queued is the CommandQueuedResponse of the specification.
type queued struct {
	Status    string    `json:"status"`
	CommandID uuid.UUID `json:"commandId"`
}

// command serves a verb that needs to know nothing but the job. It has no
// request body; one that is sent is not looked at.
func (a *API) command(queue func(context.Context, account.Caller, uuid.UUID) (uuid.UUID, error)) consumerHandler {
	return func(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
		id, err := jobID(r)
		if err != nil {
			return err
		}
		command, err := queue(r.Context(), caller, id)
		return a.answerQueued(w, command, err)
	}
}

func (a *API) sendChatMessage(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	fields, err := a.readRequest(w, r, "sendChatMessage")
	if err != nil {
		return err
	}
	command, err := a.settings.Controls.SendChatMessage(r.Context(), caller, id, fields.text("text"))
	return a.answerQueued(w, command, err)
}

func (a *API) pinParticipant(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	fields, err := a.readRequest(w, r, "pinParticipant")
	if err != nil {
		return err
	}
	command, err := a.settings.Controls.PinParticipant(r.Context(), caller, id, fields.text("participantId"))
	return a.answerQueued(w, command, err)
}

func (a *API) answerQueued(w http.ResponseWriter, command uuid.UUID, err error) error {
	if err != nil {
		return fmt.Errorf("queue a command: %w", err)
	}
	a.writeJSON(w, http.StatusAccepted, queued{Status: "queued", CommandID: command})
	return nil
}
