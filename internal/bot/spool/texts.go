package spool

import (
	"encoding/json"
	"fmt"

	"standin/internal/bot/ingest"
)

// Texts is a batch of chat messages and captions for one request.
type Texts struct {
	Number int64         `json:"number"` // 1, 2, … in the order of AppendTexts
	Texts  []ingest.Text `json:"texts"`
}

// String returns the number.
func (t Texts) String() string { return fmt.Sprintf("batch of texts %d", t.Number) }

func (t Texts) sequence() int64 { return t.Number }

// AppendTexts adds a batch to the queue and syncs it to the disk. A batch has at
// most ingest.MaxTextsPerRequest texts.
func (s *Spool) AppendTexts(batch []ingest.Text) error {
	if len(batch) == 0 || len(batch) > ingest.MaxTextsPerRequest {
		return fmt.Errorf("append texts: %d texts where 1 to %d are allowed", len(batch), ingest.MaxTextsPerRequest)
	}
	encoded, err := json.Marshal(batch)
	if err == nil {
		_, err = s.Texts.add(len(encoded), func(last Texts) Texts { return Texts{Number: last.Number + 1, Texts: batch} })
	}
	return err
}
