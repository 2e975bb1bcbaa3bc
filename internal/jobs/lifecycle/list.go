package lifecycle

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
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
	if slices.ContainsFunc(filter.Statuses, func(s job.Status) bool { return !slices.Contains(job.Statuses(), s) }) {
		return nil, "", job.NewInvalidInput("there is no such status", "status")
	}
	if filter.Platform != "" && !slices.Contains(job.Platforms(), filter.Platform) {
		return nil, "", job.NewInvalidInput("there is no such platform", "platform")
	}
	var after job.Cursor
	if page.Cursor != "" {
		last, err := readCursor(jobList, page.Cursor)
		if err != nil {
			return nil, "", err
		}
		if after.ID, err = last.uuid(); err != nil {
			return nil, "", err
		}
		after.CreatedAt = time.UnixMilli(last.number).UTC()
	}
	var more bool
	if len(filter.Metadata) > 0 {
		jobs, after, more, err = s.listByMetadata(ctx, caller, filter, after, limit)
	} else if jobs, more, err = s.Store.ListJobs(ctx, caller, filter, after, limit); more { // a page of very large jobs is shorter
		last := jobs[len(jobs)-1]
		after = job.Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	if err != nil {
		return nil, "", err
	}
	if more {
		next = cursor(jobList, position{after.CreatedAt.UnixMilli(), after.ID.String()})
	}
	return jobs, next, nil
}

// listByMetadata is Store.ListJobs for a filter of metadata, which the database does not
// apply. It also returns the last job that it has examined.
func (s *Service) listByMetadata(ctx context.Context, caller account.Caller, filter job.Filter, after job.Cursor,
	limit int) (jobs []job.Job, last job.Cursor, more bool, err error) {
	jobs = []job.Job{}
	examined, size := 0, 0
	for more = true; more && examined < maxExamined && size < maxExaminedBytes && len(jobs) < limit; {
		var read []job.Job
		read, more, err = s.Store.ListJobs(ctx, caller, filter, after, MaxPage)
		if err != nil {
			return nil, after, false, err
		}
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
		examined += len(read)
	}
	return jobs, after, more, nil
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
func (s *Service) Timeline(ctx context.Context, caller account.Caller, id uuid.UUID,
	page Page) (entries []job.TimelineEntry, next string, err error) {
	if _, err := s.Job(ctx, caller, id); err != nil {
		return nil, "", err
	}
	return readPage(page, timelineList, func(after position, limit int) ([]job.TimelineEntry, bool, error) {
		last, err := after.uuid()
		if err != nil {
			return nil, false, err
		}
		return s.Store.ListTimeline(ctx, id, last, limit)
	}, func(e job.TimelineEntry) position { return position{id: e.ID.String()} })
}

// Deliveries returns the webhook deliveries of a job of the caller, in the order
// of their events and with their attempts, and the cursor of the next page.
func (s *Service) Deliveries(ctx context.Context, caller account.Caller, id uuid.UUID,
	page Page) (deliveries []webhook.DeliveryRecord, next string, err error) {
	if _, err := s.Job(ctx, caller, id); err != nil {
		return nil, "", err
	}
	return readPage(page, deliveryList, func(after position, limit int) ([]webhook.DeliveryRecord, bool, error) {
		return s.Store.ListDeliveries(ctx, id, webhook.DeliveryCursor{Sequence: after.number, ID: after.id}, limit, s.Now())
	}, func(d webhook.DeliveryRecord) position { return position{d.Sequence, d.ID} })
}

// Redeliver is RedeliverOne for a delivery of a job.
func (s *Service) Redeliver(ctx context.Context, caller account.Caller, id uuid.UUID,
	deliveryID string) (waiting webhook.DeliveryRecord, err error) {
	if _, err := s.Job(ctx, caller, id); err != nil {
		return waiting, err
	}
	if _, err := s.Store.Delivery(ctx, id, checkedDeliveryID(deliveryID), s.Now()); err != nil {
		return waiting, err // of another job
	}
	return s.RedeliverOne(ctx, caller, deliveryID)
}

// limit returns how many entries the page may hold.
func (p Page) limit() (int, error) {
	switch {
	case p.Limit == 0:
		return DefaultPage, nil
	case p.Limit < 0 || p.Limit > MaxPage:
		return 0, job.NewInvalidInput("limit is not between 1 and 100", "limit")
	}
	return p.Limit, nil
}

// The lists with cursors. A cursor is valid for its list only.
const (
	jobList      = 'j'
	timelineList = 't'
	deliveryList = 'd' // of a job
	logList      = 'l' // of a consumer's deliveries
	endpointList = 'e'

	KeyList           = 'k'
	CalendarList      = 'c'
	AccountList       = 'x'
	ZoomAppList       = 'z'
	CalendarEventList = 'm'
)

// position is where an entry is in its list. The zero position is before the first entry.
type position struct {
	number int64
	id     string
}

// compare compares positions by number, then by ID.
func (p position) compare(other position) int {
	return cmp.Or(cmp.Compare(p.number, other.number), cmp.Compare(p.id, other.id))
}

// uuid returns the ID of an entry of a list whose IDs are UUIDs.
func (p position) uuid() (uuid.UUID, error) {
	if p == (position{}) {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(p.id)
	if err != nil {
		return uuid.Nil, errCursor()
	}
	return id, nil
}

// readPage returns a page of a list and the cursor of the next one. read returns the entries
// after a position, and whether there are more; at returns the position of an entry.
func readPage[T any](page Page, list byte, read func(after position, limit int) ([]T, bool, error),
	at func(T) position) (entries []T, next string, err error) {
	limit, err := page.limit()
	if err != nil {
		return nil, "", err
	}
	var after position
	if page.Cursor != "" {
		if after, err = readCursor(list, page.Cursor); err != nil {
			return nil, "", err
		}
	}
	entries, more, err := read(after, limit)
	if err != nil {
		return nil, "", err
	}
	if more {
		next = cursor(list, at(entries[len(entries)-1]))
	}
	return entries, next, nil
}

// Cut returns the first entries of a list that was read with one more than limit, and whether there are more.
func Cut[T any](entries []T, limit int) (first []T, more bool) {
	return entries[:min(len(entries), limit)], len(entries) > limit
}

// PageOf returns a page of a short list that is read as a whole, and the cursor of the next one.
// The list is ordered by what at returns of its entries: a number, such as the time in
// milliseconds, and an ID for entries with the same number.
func PageOf[T any](page Page, list byte, entries []T, at func(T) (number int64, id uuid.UUID)) ([]T, string, error) {
	place := func(entry T) position {
		number, id := at(entry)
		return position{number, id.String()}
	}
	return readPage(page, list, func(after position, limit int) (rest []T, more bool, err error) {
		for _, entry := range entries {
			if page.Cursor == "" || place(entry).compare(after) > 0 {
				rest = append(rest, entry)
			}
		}
		slices.SortFunc(rest, func(a, b T) int { return place(a).compare(place(b)) })
		rest, more = Cut(rest, limit)
		return rest, more, nil
	}, place)
}

// cursor encodes the position of a page's last entry. It needs no protection: a list holds
// only the caller's entries, from any position.
func cursor(list byte, last position) string {
	encoded := binary.BigEndian.AppendUint64([]byte{list}, uint64(last.number))
	return base64.RawURLEncoding.EncodeToString(append(encoded, last.id...))
}

// maxCursorID is the maximum length of an ID in a cursor; those of all lists are shorter.
const maxCursorID = 1000

// readCursor decodes a cursor of a list.
func readCursor(list byte, text string) (position, error) {
	if strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return position{}, errCursor()
	}
	encoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(encoded) < 10 || len(encoded) > 9+maxCursorID || encoded[0] != list || !printable(string(encoded[9:])) {
		return position{}, errCursor()
	}
	return position{int64(binary.BigEndian.Uint64(encoded[1:])), string(encoded[9:])}, nil
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
	return job.NewInvalidInput("cursor is not the nextCursor of an earlier page", "cursor")
}
