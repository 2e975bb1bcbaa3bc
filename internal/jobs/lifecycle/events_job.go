package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/meetinglink"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// pastInvite is how long after the time of an event its job's timeline records
// that the time had passed.
const pastInvite = 15 * time.Minute

// change gives a waiting job what an event says that shares it with others: the start of the first if it
// was moved, the end of the last, and what the others do not have.
func (m *meeting) change(ctx context.Context, c *Change, e calendarsync.Event, others []calendarsync.Event, moved bool) error {
	var changed []string
	start, end := e.Start, job.Latest(e.End, e.Start)
	for _, other := range others {
		if !other.DecidedStart.Equal(other.Start) { // it was moved, and may leave
			continue
		}
		end = job.Latest(end, other.End)
		if other.Start.Before(start) {
			start = other.Start
		}
	}
	if moved && c.setJoinAt(start) {
		changed = append(changed, "joinAt")
	}
	if len(others) == 0 || meetinglink.MoreComplete(e.MeetingURL, c.MeetingURL) {
		if replace(&c.MeetingURL, &e.MeetingURL) {
			changed = append(changed, "meetingUrl")
		}
		if replace(&c.Platform, &e.Platform) {
			changed = append(changed, "platform")
		}
	}
	ownEnd, err := m.tx.ChangedByConsumer(ctx, c.ID, "startBefore")
	if err != nil {
		return err
	}
	ownMetadata, err := m.tx.ChangedByConsumer(ctx, c.ID, "metadata")
	if err != nil {
		return err
	}
	if before := startBefore(c.JoinAt, start, end); !ownEnd && !before.IsZero() && replace(&c.Options.StartBefore, &before) {
		changed = append(changed, "startBefore")
	}
	if len(others) == 0 && !ownMetadata && rename(c, e.Title) {
		changed = append(changed, "metadata")
	}
	if len(changed) == 0 {
		return nil
	}
	m.moved = m.moved || !slices.Equal(changed, []string{"startBefore"})
	if err := c.saveRequest(ctx, m.by(), changed); err != nil {
		return err
	}
	return m.saveJob(ctx, c)
}

// startBefore returns the end of an event, moved as the consumer has moved joinAt; zero
// if it is not known.
func startBefore(joinAt, start, end time.Time) job.Timestamp {
	length := end.Sub(start).Truncate(time.Millisecond)
	if length <= 0 {
		return job.Timestamp{}
	}
	return job.Timestamp(joinAt.Add(length))
}

// rename sets the subject in the metadata of a job, and reports whether it changed.
func rename(c *Change, title string) bool {
	var metadata map[string]json.RawMessage
	var subject string
	if title == "" || json.Unmarshal(c.Metadata, &metadata) != nil ||
		json.Unmarshal(metadata["subject"], &subject) != nil || subject == title {
		return false
	}
	metadata["subject"], _ = json.Marshal(title) // no text fails
	changed, err := json.Marshal(metadata)
	if err != nil || len(changed) > job.MaxMetadata {
		return false
	}
	c.Metadata = changed
	return true
}

// create creates the meeting's job. It fails at once when the free tier is
// exhausted.
func (m *meeting) create(ctx context.Context, allowed bool) error {
	r, err := m.newJob(ctx)
	if err != nil {
		return err
	}
	c := m.service.newChange(m.tx, r)
	inserted, err := m.tx.InsertJob(ctx, r)
	if err != nil {
		return err
	}
	if !inserted {
		return fmt.Errorf("another job has the externalId %s", c.ExternalID)
	}
	if late := c.Now.Sub(c.JoinAt); late >= pastInvite {
		data := map[string]any{"joinAt": job.Timestamp(c.JoinAt), "lateMs": late.Milliseconds()}
		if err := c.addEntry(InviteTimePassed, data); err != nil {
			return err
		}
	}
	m.changes = append(m.changes, c)
	m.decided, m.created = decision{record: true, jobID: c.ID}, allowed
	if allowed {
		return c.saveGathered(ctx)
	}
	m.decided = decision{false, reasonQuota, c.ID}
	_, err = c.ApplyFromService(ctx, job.Event{
		Trigger: job.GivenUp, FailureCode: job.QuotaExceeded,
		FailureDetail: fmt.Sprintf("the free tier's limit of %d calendar meetings a month (UTC) is used up", m.limit),
	}, nil)
	if err != nil {
		return err
	}
	c.WakeAt = time.Time{} // nothing was started, so nothing is left to do
	return c.save(ctx)
}

// newJob returns the job that the meeting asks for, with the settings of its calendar.
func (m *meeting) newJob(ctx context.Context) (r job.Record, err error) {
	e := m.newest
	metadata := map[string]string{"subject": e.Title, "organizerEmail": e.Organizer}
	if e.Title == "" {
		metadata["subject"] = calendar.NoSubject
	}
	if !strings.HasPrefix(e.UID, anonymous) {
		metadata["icalUid"] = e.UID
		if !e.Original.IsZero() {
			metadata["recurrenceId"] = e.Original.UTC().Format(calendar.OriginalLayout)
		}
	}
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return r, err
	}
	id, now := job.NewID(), m.service.Now()
	r = job.Record{
		Job: job.Job{
			ID:          id,
			ConsumerID:  m.ConsumerID,
			Mode:        job.Live,
			ExternalID:  inviteJob + id.String(),
			MeetingURL:  e.MeetingURL,
			Platform:    e.Platform,
			DisplayName: job.DefaultDisplayName,
			JoinAt:      e.Start,
			CreatedAt:   job.AsStored(now),
			Metadata:    encoded,
			AutoLeave:   job.DefaultAutoLeave(),
			Options:     job.Options{StartBefore: startBefore(e.Start, e.Start, e.End)},
			State:       job.New(),
		},
		StatusSince: now, WakeAt: e.Start, ByEvent: true,
	}
	from := slices.IndexFunc(m.events, func(e calendarsync.Event) bool { return !e.IsInvitation() && !e.Removed && e.ByRules.Record })
	if !e.IsInvitation() {
		from = slices.IndexFunc(m.events, func(known calendarsync.Event) bool { return known.ID == e.ID })
	}
	if from < 0 {
		return r, nil
	}
	c, err := m.tx.Calendar(ctx, account.Caller{ConsumerID: m.ConsumerID, Mode: job.Live}, m.events[from].CalendarID)
	if err != nil {
		return r, err
	}
	r.ExternalID = calendarJob + id.String()
	r.DisplayName = cmp.Or(c.Job.DisplayName, r.DisplayName)
	replace(&r.AutoLeave, c.Job.AutoLeave)
	r.Webhooks = c.Job.Webhooks
	r.Options = c.Job.Or(r.Options)
	return r, nil
}

// JoinOther cancels a job whose meeting another job of the team has recorded, which its events then have.
func (c *Change) JoinOther(ctx context.Context, other string) error {
	if err := c.tx.MoveEvents(ctx, c.ID, other); err != nil {
		return err
	}
	id, err := uuid.Parse(other)
	if err != nil {
		return err
	}
	events, err := c.tx.EventsOfJob(ctx, id)
	for _, e := range events {
		if err == nil && !e.IsInvitation() {
			err = tellOfEvent(ctx, c.tx, c.ConsumerID, webhook.CalendarEventUpdated, e, c.Now)
		}
	}
	if err != nil {
		return err
	}
	return c.cancel(ctx, map[string]string{"by": byCalendar, "job": other})
}
