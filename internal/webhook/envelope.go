package webhook

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"standin/internal/job"

	"github.com/google/uuid"
)

// The payload versions (specification, Versioning).
const (
	Version1 = 1
	Version2 = 2
)

// NewDeliveryID returns a fresh delivery id. Ids grow with time, so that an
// index over them is written at its end.
func NewDeliveryID() string {
	id := uuid.Must(uuid.NewV7()) // fails only without a source of randomness
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

// Body returns what is posted at one try of a delivery. It differs from try to
// try in attempt alone.
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

// versionOne takes away what version 2 added: version 1 carries the free text
// failure_reason only (specification, Versioning).
func versionOne(data json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	delete(fields, "failure_code")
	delete(fields, "failure_detail")
	return encode(fields)
}
