package lifecycle

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/webhook"
)

// Bounds of how many things a page holds.
const (
	DefaultPage = 20
	MaxPage     = 100
)

// Page says which part of a list is wanted. A page may hold fewer than the
// limit; only an empty Next ends a list.
type Page struct {
	Cursor string // Next of the page before; empty for the first page
	Limit  int    // 1 to MaxPage; 0 is DefaultPage
}

// Jobs lists the caller's jobs that pass the filter, newest first. Pages are
// stable: a job made while somebody pages through comes before all pages, and
// shifts none.
func (s *Service) Jobs(ctx context.Context, caller account.Caller, filter job.Filter, page Page) (jobs []job.Job, next string, err error) {
	limit, err := page.limit()
	if err != nil {
		return nil, "", err
	}
	if err := checkFilter(filter); err != nil {
		return nil, "", err
	}
	var after job.Cursor
	if page.Cursor != "" {
		millis, id, err := readCursor(page.Cursor)
		if err != nil {
			return nil, "", err
		}
		after = job.Cursor{CreatedAt: time.UnixMilli(millis).UTC(), ID: id}
	}
	records, more, err := s.store.ListJobs(ctx, caller.ConsumerID, caller.Mode, filter, after, limit)
	if err != nil {
		return nil, "", err
	}
	jobs = make([]job.Job, len(records))
	for i, r := range records {
		jobs[i] = r.Job
	}
	if more {
		last := jobs[len(jobs)-1]
		next = cursor(last.CreatedAt.UnixMilli(), last.ID)
	}
	return jobs, next, nil
}

// Timeline lists what happened to a job of the caller's, in the order in which
// the service heard of it: what its bot reported, applied or not, what the
// service decided, and the kinds of notes.go.
func (s *Service) Timeline(ctx context.Context, caller account.Caller, id uuid.UUID, page Page) (entries []job.TimelineEntry, next string, err error) {
	limit, err := page.limit()
	if err != nil {
		return nil, "", err
	}
	if _, err := s.Job(ctx, caller, id); err != nil {
		return nil, "", err
	}
	var after uuid.UUID
	if page.Cursor != "" {
		if _, after, err = readCursor(page.Cursor); err != nil {
			return nil, "", err
		}
	}
	entries, more, err := s.store.ListTimeline(ctx, id, after, limit)
	if err != nil {
		return nil, "", err
	}
	if more {
		next = cursor(0, entries[len(entries)-1].ID)
	}
	return entries, next, nil
}

// Deliveries lists the webhooks of a job of the caller's in the order of their
// events, each with all its tries.
func (s *Service) Deliveries(ctx context.Context, caller account.Caller, id uuid.UUID, page Page) (deliveries []webhook.DeliveryRecord, next string, err error) {
	limit, err := page.limit()
	if err != nil {
		return nil, "", err
	}
	if _, err := s.Job(ctx, caller, id); err != nil {
		return nil, "", err
	}
	var after webhook.DeliveryCursor
	if page.Cursor != "" {
		if after, err = readDeliveryCursor(page.Cursor); err != nil {
			return nil, "", err
		}
	}
	deliveries, more, err := s.store.ListDeliveries(ctx, id, after, limit)
	if err != nil {
		return nil, "", err
	}
	if more {
		last := deliveries[len(deliveries)-1]
		next = deliveryCursor(webhook.DeliveryCursor{Sequence: last.Sequence, ID: last.ID})
	}
	return deliveries, next, nil
}

// Redeliver has a delivery of the caller's job that was delivered or given up
// sent once more, under the same id and to the same address. One that is still
// on its way, or was tried too often, gives a *job.Error with InvalidState. It
// returns the delivery, waiting.
func (s *Service) Redeliver(ctx context.Context, caller account.Caller, id uuid.UUID, deliveryID string) (webhook.DeliveryRecord, error) {
	if len(deliveryID) > maxDeliveryID || !printable(deliveryID) {
		deliveryID = "" // names none
	}
	var waiting webhook.DeliveryRecord
	err := s.store.Write(ctx, func(q *store.Queries) error {
		r, err := q.LockJob(ctx, id)
		if err != nil {
			return err
		}
		if err := owned(r, caller); err != nil {
			return err
		}
		if err := q.Redeliver(ctx, id, deliveryID, s.now()); err != nil {
			return err
		}
		waiting, err = q.Delivery(ctx, id, deliveryID)
		return err
	})
	if err != nil {
		return webhook.DeliveryRecord{}, err
	}
	s.wakeHooks()
	return waiting, nil
}

// checkFilter is the error for a filter that no job could ever pass.
func checkFilter(filter job.Filter) error {
	if filter.Status != "" && !slices.Contains(job.Statuses(), filter.Status) {
		return &job.Error{Code: job.InvalidInput, Message: "status is none of the job statuses", Path: []any{"status"}}
	}
	if filter.Platform != "" && !slices.Contains([]job.Platform{job.Meet, job.Teams, job.ZoomWeb, job.ZoomSDK}, filter.Platform) {
		return &job.Error{Code: job.InvalidInput, Message: "platform is none of the platforms", Path: []any{"platform"}}
	}
	return nil
}

// limit is how many things the page may hold.
func (p Page) limit() (int, error) {
	switch {
	case p.Limit == 0:
		return DefaultPage, nil
	case p.Limit < 0 || p.Limit > MaxPage:
		return 0, &job.Error{Code: job.InvalidInput, Message: "limit is not between 1 and 100", Path: []any{"limit"}}
	}
	return p.Limit, nil
}

// A cursor is the place of a page's last entry. It is nothing to forge: a list
// shows only what is the caller's, from whatever place.

// cursor writes a place that is a number and an id.
func cursor(number int64, id uuid.UUID) string {
	place := binary.BigEndian.AppendUint64(nil, uint64(number))
	return base64.RawURLEncoding.EncodeToString(append(place, id[:]...))
}

// readCursor is the inverse of cursor.
func readCursor(text string) (int64, uuid.UUID, error) {
	place, err := placeOf(text)
	if err != nil || len(place) != 8+len(uuid.Nil) {
		return 0, uuid.Nil, errCursor()
	}
	return int64(binary.BigEndian.Uint64(place)), uuid.UUID(place[8:]), nil
}

// deliveryCursor writes a place in a list of deliveries.
func deliveryCursor(at webhook.DeliveryCursor) string {
	place := binary.BigEndian.AppendUint64(nil, uint64(at.Sequence))
	return base64.RawURLEncoding.EncodeToString(append(place, at.ID...))
}

// readDeliveryCursor is the inverse of deliveryCursor.
func readDeliveryCursor(text string) (webhook.DeliveryCursor, error) {
	place, err := placeOf(text)
	if err != nil || len(place) < 8 || len(place) > 8+maxDeliveryID || !printable(string(place[8:])) {
		return webhook.DeliveryCursor{}, errCursor()
	}
	return webhook.DeliveryCursor{Sequence: int64(binary.BigEndian.Uint64(place)), ID: string(place[8:])}, nil
}

// placeOf decodes a cursor. Line breaks, which the decoder passes over, are in
// none that was given.
func placeOf(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errCursor()
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}

// maxDeliveryID bounds a delivery's id, in bytes; ours are shorter.
const maxDeliveryID = 100

// printable reports whether text is ASCII without controls, which every
// database takes.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

func errCursor() error {
	return &job.Error{Code: job.InvalidInput, Message: "cursor is not one that a page before gave", Path: []any{"cursor"}}
}
