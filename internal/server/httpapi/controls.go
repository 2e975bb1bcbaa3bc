package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/lifecycle"
)

// Controls queues commands for the bot of a job and returns the id of the
// command. A job that does not exist or belongs to another consumer results in
// a *job.Error with NotFound, a job whose bot accepts no commands in
// InvalidState.
type Controls interface {
	QueueCommand(ctx context.Context, caller account.Caller, id uuid.UUID, kind ingest.CommandKind, args any) (uuid.UUID, error)
	SendChatMessage(ctx context.Context, caller account.Caller, id uuid.UUID, text string) (uuid.UUID, error)
	PinParticipant(ctx context.Context, caller account.Caller, id uuid.UUID, participantID string) (uuid.UUID, error)
	Output(ctx context.Context, caller account.Caller, id uuid.UUID, output lifecycle.Output) (uuid.UUID, error)
}

// queuedBody is the CommandQueuedResponse schema of api/openapi.yaml.
type queuedBody struct {
	Status    string    `json:"status"`
	CommandID uuid.UUID `json:"commandId"`
}

// command serves an operation that queues a command without arguments. It
// ignores the request body.
func (a *API) command(kind ingest.CommandKind) idHandler {
	return func(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
		command, err := a.Controls.QueueCommand(r.Context(), caller, id, kind, nil)
		return a.writeQueued(w, command, err)
	}
}

func (a *API) sendChatMessage(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	var request struct {
		Text string `json:"text"`
	}
	if err := a.readRequest(w, r, "sendChatMessage", &request); err != nil {
		return err
	}
	command, err := a.Controls.SendChatMessage(r.Context(), caller, id, request.Text)
	return a.writeQueued(w, command, err)
}

func (a *API) pinParticipant(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	var request struct {
		ParticipantID string `json:"participantId"`
	}
	if err := a.readRequest(w, r, "pinParticipant", &request); err != nil {
		return err
	}
	command, err := a.Controls.PinParticipant(r.Context(), caller, id, request.ParticipantID)
	return a.writeQueued(w, command, err)
}

func (a *API) writeQueued(w http.ResponseWriter, command uuid.UUID, err error) error {
	return a.respond(w, http.StatusAccepted, queuedBody{Status: "queued", CommandID: command}, err)
}
