package lifecycle

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// Patch changes a job that is not yet dispatched. Fields that are nil do not
// change.
type Patch struct {
	JoinAt      *time.Time
	DisplayName *string
	Metadata    json.RawMessage // a JSON object; replaces the old one
	AutoLeave   AutoLeavePatch
	Webhooks    WebhooksPatch
	Title       *string     // an empty one removes it
	StartBefore *time.Time  // the zero time removes it
	Options     job.Options // empty ones do not change
}

// AutoLeavePatch changes single settings of a job's AutoLeave. It is a part of the JobPatch
// schema of api/openapi.yaml.
type AutoLeavePatch struct {
	AfterEntryDelaySeconds *int  `json:"afterEntryDelaySeconds"`
	AfterSilenceSeconds    *int  `json:"afterSilenceSeconds"`
	AfterSoloSeconds       *int  `json:"afterSoloSeconds"`
	AfterMaxSeconds        *int  `json:"afterMaxSeconds"`
	OnBotDetected          *bool `json:"onBotDetected"`
	OnlyNotetakersSeconds  *int  `json:"onlyNotetakersSeconds"`
	SilentAreNotetakers    *bool `json:"silentAreNotetakers"`
}

// WebhooksPatch changes single URLs of a job; an empty one removes the URL.
type WebhooksPatch struct {
	OnStatusChange *string
	OnFinalize     *string
}

// Patch changes a job of the caller before its first attempt, and returns it.
// After that it returns a *job.Error with InvalidState.
func (s *Service) Patch(ctx context.Context, caller account.Caller, id uuid.UUID, patch Patch) (job.Job, error) {
	r, err := s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if err := checkOwner(c.Job, caller); err != nil {
			return err
		}
		if !undispatched(c.Status) {
			return job.NewInvalidState("only a job that is not yet dispatched can be changed: it is %s", c.Status)
		}
		changed := patch.apply(c)
		switch {
		case len(changed) == 0:
			return nil
		case !c.Options.StartsInTime(c.JoinAt):
			return job.NewInvalidInput("startBefore must be after joinAt", "startBefore")
		}
		return c.saveRequest(ctx, byConsumer, changed)
	})
	return r.Job, err
}

// undispatched reports whether no attempt has been started and the job has not
// ended.
func undispatched(status job.Status) bool { return !status.Terminal() && !status.Dispatched() }

// apply changes the job and returns the names of the changed fields.
func (p Patch) apply(c *Change) []string {
	var changed []string
	if p.JoinAt != nil && c.setJoinAt(*p.JoinAt) {
		changed = append(changed, "joinAt")
	}
	if replace(&c.DisplayName, p.DisplayName) {
		changed = append(changed, "displayName")
	}
	if p.Metadata != nil && string(p.Metadata) != string(c.Metadata) {
		c.Metadata = p.Metadata
		changed = append(changed, "metadata")
	}
	autoLeave := c.AutoLeave
	replace(&autoLeave.AfterEntryDelaySeconds, p.AutoLeave.AfterEntryDelaySeconds)
	replace(&autoLeave.AfterSilenceSeconds, p.AutoLeave.AfterSilenceSeconds)
	replace(&autoLeave.AfterSoloSeconds, p.AutoLeave.AfterSoloSeconds)
	replace(&autoLeave.AfterMaxSeconds, p.AutoLeave.AfterMaxSeconds)
	replace(&autoLeave.OnBotDetected, p.AutoLeave.OnBotDetected)
	replace(&autoLeave.OnlyNotetakersSeconds, p.AutoLeave.OnlyNotetakersSeconds)
	replace(&autoLeave.SilentAreNotetakers, p.AutoLeave.SilentAreNotetakers)
	if replace(&c.AutoLeave, &autoLeave) {
		changed = append(changed, "autoLeave")
	}
	webhooks := c.Webhooks
	replace(&webhooks.OnStatusChange, p.Webhooks.OnStatusChange)
	replace(&webhooks.OnFinalize, p.Webhooks.OnFinalize)
	if replace(&c.Webhooks, &webhooks) {
		changed = append(changed, "webhooks")
	}
	options := p.Options.Or(c.Options)
	replace(&options.Title, p.Title)
	if p.StartBefore != nil {
		options.StartBefore = job.Timestamp(job.AsStored(*p.StartBefore))
	}
	was, is := reflect.ValueOf(c.Options), reflect.ValueOf(options)
	for i := range was.NumField() {
		if !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			name, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("json"), ",")
			changed = append(changed, name)
		}
	}
	c.Options = options
	return changed
}

// replace sets a value and reports whether it changed. A nil value changes
// nothing.
func replace[T comparable](value, with *T) bool {
	if with == nil || *value == *with {
		return false
	}
	*value = *with
	return true
}

// setJoinAt moves the job and its StartBefore to another time, and reports whether it changed. A
// dispatcher that is about to launch the bot loses its lease. A prelaunched bot
// is stopped under the lease.
func (c *Change) setJoinAt(at time.Time) bool {
	at = job.AsStored(at)
	if at.Equal(c.JoinAt) {
		return false
	}
	if !c.Options.StartBefore.IsZero() {
		c.Options.StartBefore = job.Timestamp(c.Options.StartBefore.Time().Add(at.Sub(c.JoinAt)))
	}
	c.JoinAt = at
	if c.Prelaunch != job.Prelaunched && c.Prelaunch != job.PrelaunchWithdrawn {
		c.WakeAt, c.Lease = at, ""
	}
	return true
}

// saveRequest saves changed fields of the request for the job, withdraws a bot
// that was launched for the old ones, and records the change on the timeline. A job that
// waits for capacity and is not due any more is scheduled again.
func (c *Change) saveRequest(ctx context.Context, by string, changed []string) error {
	c.WithdrawPrelaunch()
	if err := c.tx.SaveJobRequest(ctx, c.Record); err != nil {
		return err
	}
	data := map[string]any{"by": by, "changed": changed}
	if slices.Contains(changed, "joinAt") {
		data["joinAt"] = job.Timestamp(c.JoinAt)
	}
	if err := c.addEntry(JobChanged, data); err != nil {
		return err
	}
	if c.Status == job.Pending && c.JoinAt.After(c.Now) {
		_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.Rescheduled}, nil)
		return err
	}
	return nil
}
