package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
)

// queuedBody is the CommandQueuedResponse schema of api/openapi.yaml.
type queuedBody struct {
	Status    string    `json:"status"`
	CommandID uuid.UUID `json:"commandId"`
}

// command serves an operation that queues a command without arguments. It
// ignores the request body.
func (a *API) command(kind ingest.CommandKind) idHandler {
	return func(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
		command, err := a.Jobs.QueueCommand(r.Context(), caller, id, kind, nil)
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
	command, err := a.Jobs.SendChatMessage(r.Context(), caller, id, request.Text)
	return a.writeQueued(w, command, err)
}

func (a *API) pinParticipant(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	var request struct {
		ParticipantID string `json:"participantId"`
	}
	if err := a.readRequest(w, r, "pinParticipant", &request); err != nil {
		return err
	}
	command, err := a.Jobs.PinParticipant(r.Context(), caller, id, request.ParticipantID)
	return a.writeQueued(w, command, err)
}

func (a *API) writeQueued(w http.ResponseWriter, command uuid.UUID, err error) error {
	return a.respond(w, http.StatusAccepted, queuedBody{Status: "queued", CommandID: command}, err)
}
