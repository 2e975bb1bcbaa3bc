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
	"standin/internal/event"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/webhook"
)

// Sizes of a page.
const (
	DefaultPage = 20
	MaxPage     = 100
)

// Page selects a part of a list. A page may hold fewer entries than the limit;
// only an empty next cursor ends a list.
type Page struct {
	Cursor string // the next cursor of the previous page; empty for the first page
	Limit  int    // 1 to MaxPage; 0 is DefaultPage
}

// Jobs returns the caller's jobs that match the filter, newest first, and the
// cursor of the next page. Pages are stable: a job that is created meanwhile
// comes before all pages and shifts none.
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
		if millis == 0 { // of a timeline
			return nil, "", errCursor()
		}
		after = job.Cursor{CreatedAt: time.UnixMilli(millis).UTC(), ID: id}
	}
	if len(filter.Metadata) == 0 {
		return s.page(ctx, caller, filter, after, limit)
	}
	return s.pageByMetadata(ctx, caller, filter, after, limit)
}

// page returns a page of jobs after a cursor. A page of very large jobs is
// shorter.
func (s *Service) page(ctx context.Context, caller account.Caller, filter job.Filter, after job.Cursor, limit int) (jobs []job.Job, next string, err error) {
	jobs, more, err := s.Store.ListJobs(ctx, caller.ConsumerID, caller.Mode, filter, after, limit)
	if err != nil {
		return nil, "", err
	}
	if more {
		last := jobs[len(jobs)-1]
		next = cursor(last.CreatedAt.UnixMilli(), last.ID)
	}
	return jobs, next, nil
}

// pageByMetadata is page for a filter of metadata, which the database does not
// apply.
func (s *Service) pageByMetadata(ctx context.Context, caller account.Caller, filter job.Filter, after job.Cursor, limit int) (jobs []job.Job, next string, err error) {
	jobs = []job.Job{}
	examined, size := 0, 0
	for more := true; more && examined < maxExamined && size < maxExaminedBytes && len(jobs) < limit; {
		var read []job.Job
		read, more, err = s.Store.ListJobs(ctx, caller.ConsumerID, caller.Mode, filter, after, MaxPage)
		if err != nil {
			return nil, "", err
		}
		next = ""
		for i, j := range read {
			after = job.Cursor{CreatedAt: j.CreatedAt, ID: j.ID}
			size += len(j.Metadata)
			if filter.MatchesMetadata(j.Metadata) {
				jobs = append(jobs, j)
			}
			if more = more || i < len(read)-1 && len(jobs) == limit; len(jobs) == limit {
				break
			}
		}
		if examined += len(read); more {
			next = cursor(after.CreatedAt.UnixMilli(), after.ID)
		}
	}
	return jobs, next, nil
}

// Bounds of the jobs that a page with a metadata filter examines. The page in which their
// metadata reaches maxExaminedBytes is the last.
const (
	maxExamined      = 2000
	maxExaminedBytes = 8 << 20
)

// Timeline returns the timeline of a job of the caller, in the order in which
// the service received or decided the events, and the cursor of the next page.
// It includes events of bots that were not applied.
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
		var number int64
		if number, after, err = readCursor(page.Cursor); err != nil {
			return nil, "", err
		}
		if number != 0 { // of the list of jobs
			return nil, "", errCursor()
		}
	}
	entries, more, err := s.Store.ListTimeline(ctx, id, after, limit)
	if err != nil {
		return nil, "", err
	}
	if more {
		next = cursor(0, entries[len(entries)-1].ID)
	}
	return entries, next, nil
}

// Deliveries returns the webhook deliveries of a job of the caller, in the order
// of their events and with their attempts, and the cursor of the next page.
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
	deliveries, more, err := s.Store.ListDeliveries(ctx, id, after, limit, s.Now())
	if err != nil {
		return nil, "", err
	}
	if more {
		last := deliveries[len(deliveries)-1]
		next = deliveryCursor(webhook.DeliveryCursor{Sequence: last.Sequence, ID: last.ID})
	}
	return deliveries, next, nil
}

// Redeliver sends a delivery of the caller's job again that succeeded or failed
// permanently, with the same ID and to the same URL. It returns the waiting
// delivery. One that is still waiting, or was attempted too often, is a
// *job.Error with InvalidState.
func (s *Service) Redeliver(ctx context.Context, caller account.Caller, id uuid.UUID, deliveryID string) (webhook.DeliveryRecord, error) {
	deliveryID = checkedDeliveryID(deliveryID)
	var waiting webhook.DeliveryRecord
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, id)
		if err != nil {
			return err
		}
		if err := checkOwner(r.Job, caller); err != nil {
			return err
		}
		if _, err := tx.Delivery(ctx, id, deliveryID, s.Now()); err != nil {
			return err // of another job
		}
		if err := tx.Redeliver(ctx, caller.ConsumerID, caller.Mode, deliveryID, s.Now()); err != nil {
			return err
		}
		waiting, err = tx.Delivery(ctx, id, deliveryID, s.Now())
		return err
	})
	if err != nil {
		return webhook.DeliveryRecord{}, err
	}
	s.Events.Publish(event.DeliveryDue{})
	return waiting, nil
}

// checkFilter returns an error if no job can match the filter.
func checkFilter(filter job.Filter) error {
	if slices.ContainsFunc(filter.Statuses, func(s job.Status) bool { return !slices.Contains(job.Statuses(), s) }) {
		return &job.Error{Code: job.InvalidInput, Message: "status is none of the job statuses", Path: []any{"status"}}
	}
	if filter.Platform != "" && !slices.Contains(job.Platforms(), filter.Platform) {
		return &job.Error{Code: job.InvalidInput, Message: "platform is none of the platforms", Path: []any{"platform"}}
	}
	return nil
}

// limit returns how many entries the page may hold.
func (p Page) limit() (int, error) {
	switch {
	case p.Limit == 0:
		return DefaultPage, nil
	case p.Limit < 0 || p.Limit > MaxPage:
		return 0, &job.Error{Code: job.InvalidInput, Message: "limit is not between 1 and 100", Path: []any{"limit"}}
	}
	return p.Limit, nil
}

// A cursor encodes the position of a page's last entry. It needs no protection:
// a list holds only the caller's entries, from any position.

// cursor encodes a position that is a number and an ID.
func cursor(number int64, id uuid.UUID) string {
	position := binary.BigEndian.AppendUint64(nil, uint64(number))
	return base64.RawURLEncoding.EncodeToString(append(position, id[:]...))
}

// readCursor decodes a cursor.
func readCursor(text string) (int64, uuid.UUID, error) {
	position, err := decodeCursor(text)
	if err != nil || len(position) != 8+len(uuid.Nil) {
		return 0, uuid.Nil, errCursor()
	}
	return int64(binary.BigEndian.Uint64(position)), uuid.UUID(position[8:]), nil
}

// deliveryCursor encodes a position in a list of deliveries.
func deliveryCursor(at webhook.DeliveryCursor) string {
	position := binary.BigEndian.AppendUint64(nil, uint64(at.Sequence))
	return base64.RawURLEncoding.EncodeToString(append(position, at.ID...))
}

// readDeliveryCursor decodes a deliveryCursor.
func readDeliveryCursor(text string) (webhook.DeliveryCursor, error) {
	position, err := decodeCursor(text)
	if err != nil || len(position) < 8 || len(position) > 8+maxDeliveryID || !printable(string(position[8:])) {
		return webhook.DeliveryCursor{}, errCursor()
	}
	return webhook.DeliveryCursor{Sequence: int64(binary.BigEndian.Uint64(position)), ID: string(position[8:])}, nil
}

// decodeCursor decodes the base64 of a cursor. Line breaks, which the decoder
// skips, are in no valid one.
func decodeCursor(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errCursor()
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}

// maxDeliveryID is the maximum length of a delivery's ID, in bytes; generated
// ones are shorter.
const maxDeliveryID = 100

// printable reports whether text is ASCII without control characters, which
// every database accepts.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

func errCursor() error {
	return &job.Error{Code: job.InvalidInput, Message: "cursor is not the nextCursor of an earlier page", Path: []any{"cursor"}}
}
