package lifecycle

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
)

// Patch is what a consumer changes in a job that is not yet dispatched. What
// is nil stays as it is.
type Patch struct {
	JoinAt      *time.Time
	DisplayName *string
	Metadata    json.RawMessage // a JSON object; replaces the old one whole
	AutoLeave   AutoLeavePatch
	Webhooks    WebhooksPatch
}

// AutoLeavePatch changes single knobs of a job.
type AutoLeavePatch struct {
	AfterEntryDelaySeconds *int
	AfterSilenceSeconds    *int
	AfterSoloSeconds       *int
	AfterMaxSeconds        *int
	OnBotDetected          *bool
}

// WebhooksPatch changes single addresses of a job; an empty one takes the
// address away.
type WebhooksPatch struct {
	OnStatusChange *string
	OnFinalize     *string
}

// Patch changes a job of the caller's while no attempt has been begun: a job
// beyond that gives a *job.Error with InvalidState (contract, Jobs). It returns
// the job as it is then.
func (s *Service) Patch(ctx context.Context, caller account.Caller, id uuid.UUID, patch Patch) (job.Job, error) {
	r, err := s.Change(ctx, id, func(c *Change) error {
		if err := owned(c.Record, caller); err != nil {
			return err
		}
		if !undispatched(c.Status) {
			return &job.Error{Code: job.InvalidState, Message: "only a job that is not yet dispatched can be changed: it is " + string(c.Status)}
		}
		if changed := patch.apply(c); len(changed) > 0 {
			return c.saveRequest(ctx, byConsumer, changed)
		}
		return nil
	})
	return r.Job, err
}

// undispatched reports whether no attempt has been begun and the job has not
// ended.
func undispatched(status job.Status) bool { return !status.Terminal() && !status.Dispatched() }

// apply changes the job and returns the names of the fields that changed.
func (p Patch) apply(c *Change) []string {
	var changed []string
	if p.JoinAt != nil && c.joinAt(*p.JoinAt) {
		changed = append(changed, "joinAt")
	}
	if replace(&c.DisplayName, p.DisplayName) {
		changed = append(changed, "displayName")
	}
	if p.Metadata != nil && string(p.Metadata) != string(c.Metadata) {
		c.Metadata = p.Metadata
		changed = append(changed, "metadata")
	}
	leave := c.AutoLeave
	replace(&leave.AfterEntryDelaySeconds, p.AutoLeave.AfterEntryDelaySeconds)
	replace(&leave.AfterSilenceSeconds, p.AutoLeave.AfterSilenceSeconds)
	replace(&leave.AfterSoloSeconds, p.AutoLeave.AfterSoloSeconds)
	replace(&leave.AfterMaxSeconds, p.AutoLeave.AfterMaxSeconds)
	replace(&leave.OnBotDetected, p.AutoLeave.OnBotDetected)
	if replace(&c.AutoLeave, &leave) {
		changed = append(changed, "autoLeave")
	}
	hooks := c.Webhooks
	replace(&hooks.OnStatusChange, p.Webhooks.OnStatusChange)
	replace(&hooks.OnFinalize, p.Webhooks.OnFinalize)
	if replace(&c.Webhooks, &hooks) {
		changed = append(changed, "webhooks")
	}
	return changed
}

// replace puts a new value in the place of an old one, and reports whether
// they differ. No new value is no change.
func replace[T comparable](old, with *T) bool {
	if with == nil || *old == *with {
		return false
	}
	*old = *with
	return true
}

// joinAt moves the job to another time, and reports whether it is another. A
// dispatcher that is about to send the bot loses its lease, and the job is
// looked at when the new time comes.
func (c *Change) joinAt(at time.Time) bool {
	at = at.UTC().Truncate(time.Millisecond)
	if at.Equal(c.JoinAt) {
		return false
	}
	c.JoinAt, c.WakeAt, c.Lease = at, at, ""
	return true
}

// saveRequest keeps what was changed in what is asked for with the job, and
// writes it on the timeline.
func (c *Change) saveRequest(ctx context.Context, by string, changed []string) error {
	if err := c.q.SaveJobRequest(ctx, c.Record); err != nil {
		return err
	}
	data := map[string]any{"by": by, "changed": changed}
	for _, field := range changed {
		if field == "joinAt" {
			data["joinAt"] = job.Timestamp(c.JoinAt)
		}
	}
	return c.addEntry(ctx, JobChanged, data)
}
