package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
)

// command serves an operation that queues a command without arguments. It
// ignores the request body.
func (a *API) command(kind ingest.CommandKind) handler {
	return func(r *apiRequest) error {
		return r.queued(a.Jobs.QueueCommand(r.Context(), r.caller, r.id, kind, nil))
	}
}

type chatRequest struct {
	Text string `json:"text"`
}

func (a *API) sendChatMessage(r *apiRequest, in chatRequest) error {
	return r.queued(a.Jobs.SendChatMessage(r.Context(), r.caller, r.id, in.Text))
}

type pinRequest struct {
	ParticipantID string `json:"participantId"`
}

func (a *API) pinParticipant(r *apiRequest, in pinRequest) error {
	return r.queued(a.Jobs.PinParticipant(r.Context(), r.caller, r.id, in.ParticipantID))
}

// queued responds with the CommandQueuedResponse schema of api/openapi.yaml.
func (r *apiRequest) queued(command uuid.UUID, err error) error {
	return r.respondStatus(http.StatusAccepted, struct {
		Status    string    `json:"status"`
		CommandID uuid.UUID `json:"commandId"`
	}{"queued", command}, err)
}
