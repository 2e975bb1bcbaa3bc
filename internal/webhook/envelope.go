package webhook

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"standin/internal/job"

	"github.com/google/uuid"
)

// The payload versions; docs/webhooks.md lists the differences.
const (
	Version1 = 1
	Version2 = 2
)

// NewDeliveryID returns a new delivery ID. IDs grow with time, so that inserts
// go to the end of an index.
func NewDeliveryID() string {
	id := uuid.Must(uuid.NewV7()) // fails only if the system has no random numbers
	return "dlv_" + hex.EncodeToString(id[:])
}

type envelope struct {
	DeliveryID string          `json:"deliveryId"`
	Event      string          `json:"event"`
	EmittedAt  job.Timestamp   `json:"emittedAt"`
	Attempt    int             `json:"attempt"`
	Version    int             `json:"version,omitempty"` // version 1 omits it
	Data       json.RawMessage `json:"data"`
}

// Body returns the request body of a try. Only the attempt differs between the
// tries of a delivery.
func Body(delivery Delivery) ([]byte, error) {
	message := envelope{
		DeliveryID: delivery.ID,
		Event:      delivery.Event,
		EmittedAt:  job.Timestamp(delivery.EmittedAt),
		Attempt:    delivery.Attempt,
		Version:    Version2,
		Data:       delivery.Data,
	}
	if delivery.Version == Version1 {
		data, err := versionOne(delivery.Data)
		if err != nil {
			return nil, fmt.Errorf("compose delivery %s for version 1: %w", delivery.ID, err)
		}
		message.Version, message.Data = 0, data
	}
	body, err := encode(message)
	if err != nil {
		return nil, fmt.Errorf("compose delivery %s: %w", delivery.ID, err)
	}
	return body, nil
}

// versionOne removes the fields that version 2 added.
func versionOne(data json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	delete(fields, "failure_code")
	delete(fields, "failure_detail")
	return encode(fields)
}
