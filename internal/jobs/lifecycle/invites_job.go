package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

// update changes the job that was found as the invite says, if an invite created
// it and it is not yet dispatched.
func (s *inviteTx) update(ctx context.Context) error {
	c := s.change
	s.setResult(calendar.Deduped)
	if c.CalendarKey == "" || s.isOfAnother() || !undispatched(c.Status) {
		return nil
	}
	previousKey := c.CalendarKey
	var changed []string
	less := s.invite.RecurrenceID == "" && s.invite.SameEvent(c.ICalUID) && c.ICalUID != s.invite.ICalUID // the job knows its occurrence
	if key := s.invite.Key(); s.invite.ICalUID != "" && key != c.CalendarKey && !less {
		c.ICalUID, c.CalendarKey = s.invite.EventID(), key
		if c.setJoinAt(s.invite.JoinAt) {
			changed = append(changed, "joinAt")
		}
	}
	if replace(&c.MeetingURL, &s.invite.MeetingURL) {
		changed = append(changed, "meetingUrl")
	}
	if replace(&c.Platform, &s.invite.Platform) {
		changed = append(changed, "platform")
	}
	if end := s.endFor(c.JoinAt); !end.IsZero() && replace(&c.Options.StartBefore, &end) {
		changed = append(changed, "startBefore")
	}
	if s.renames() {
		changed = append(changed, "metadata")
	}
	switch {
	case len(changed) > 0:
		if err := c.saveRequest(ctx, s.by(), changed); err != nil {
			return err
		}
	case previousKey != c.CalendarKey:
		if err := c.tx.SaveJobRequest(ctx, c.Record); err != nil {
			return err
		}
	}
	if err := c.save(ctx); err != nil || len(changed) == 0 {
		return err
	}
	return s.markOthers(ctx, c.ID)
}

// endFor returns the end of the invite's event, moved as the consumer has moved joinAt; zero
// if it is not known.
func (s *inviteTx) endFor(joinAt time.Time) job.Timestamp {
	length := s.invite.EndsAt.Sub(s.invite.JoinAt).Truncate(time.Millisecond)
	if length <= 0 {
		return job.Timestamp{}
	}
	return job.Timestamp(joinAt.Add(length))
}

// renames sets the subject in the metadata of the job, and reports whether it changed.
// A consumer that has removed it from the metadata keeps them.
func (s *inviteTx) renames() bool {
	var metadata map[string]json.RawMessage
	var subject string
	if s.invite.Subject == calendar.NoSubject || json.Unmarshal(s.change.Metadata, &metadata) != nil ||
		json.Unmarshal(metadata["subject"], &subject) != nil || subject == s.invite.Subject {
		return false
	}
	encoded, err := json.Marshal(s.invite.Subject)
	if err != nil {
		return false
	}
	metadata["subject"] = encoded
	changed, err := json.Marshal(metadata)
	if err != nil || len(changed) > job.MaxMetadata {
		return false
	}
	s.change.Metadata = changed
	return true
}

// create creates the invite's job. It fails at once when the free tier is
// exhausted.
func (s *inviteTx) create(ctx context.Context, allowed bool) error {
	c := s.change
	r, err := s.newRecord()
	if err != nil {
		return err
	}
	c.Record = r
	inserted, err := c.tx.InsertJob(ctx, c.Record)
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
	s.setResult(calendar.Scheduled)
	if allowed {
		return c.saveGathered(ctx)
	}
	s.setResult(calendar.FreeTierExhausted)
	_, err = c.ApplyFromService(ctx, job.Event{
		Trigger: job.GivenUp, FailureCode: job.QuotaExceeded,
		FailureDetail: fmt.Sprintf("the free tier's limit of %d calendar meetings a month (UTC) is used up", s.limit),
	}, nil)
	if err != nil {
		return err
	}
	c.WakeAt = time.Time{} // nothing was started, so nothing is left to do
	return c.save(ctx)
}

// newRecord returns the job that the invite asks for.
func (s *inviteTx) newRecord() (job.Record, error) {
	metadata := map[string]string{"subject": s.invite.Subject, "organizerEmail": s.invite.OrganizerEmail}
	if s.invite.ICalUID != "" {
		metadata["icalUid"] = s.invite.ICalUID
	}
	if s.invite.RecurrenceID != "" {
		metadata["recurrenceId"] = s.invite.RecurrenceID
	}
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return job.Record{}, fmt.Errorf("encode an invite's metadata: %w", err)
	}
	id := uuid.Must(uuid.NewV7())
	r := job.Record{
		Job: job.Job{
			ID:          id,
			ConsumerID:  s.consumer,
			Mode:        job.Live,
			ExternalID:  inviteJob + id.String(),
			MeetingURL:  s.invite.MeetingURL,
			Platform:    s.invite.Platform,
			DisplayName: job.DefaultDisplayName,
			JoinAt:      s.invite.JoinAt,
			CreatedAt:   s.change.Now.UTC().Truncate(time.Millisecond),
			Metadata:    encoded,
			AutoLeave:   job.DefaultAutoLeave(),
			Options:     job.Options{StartBefore: s.endFor(s.invite.JoinAt)},
			State:       job.New(),
		},
		StatusSince: s.change.Now,
		WakeAt:      s.invite.JoinAt,
		ICalUID:     s.invite.EventID(),
		CalendarKey: s.invite.Key(),
	}
	if s.meeting != nil {
		s.meeting.complete(&r)
	}
	return r, nil
}

func (s *inviteTx) setResult(kind calendar.Kind) {
	s.result = calendar.Result{Kind: kind, JobID: s.change.ID, ConsumerID: s.consumer}
}
