package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"standin/internal/calendar"
	"standin/internal/job"
)

// Invites makes jobs from calendar invites.
type Invites interface {
	Schedule(ctx context.Context, invite calendar.Invite) (calendar.Result, error)
}

// intakeInvite takes a CalendarInvite of the specification.
func (a *API) intakeInvite(w http.ResponseWriter, r *http.Request) error {
	fields, err := a.readRequest(w, r, "intakeInvite")
	if err != nil {
		return err
	}
	invite := calendar.Invite{
		OrganizerEmail: fields.text("organizerEmail"),
		Subject:        fields.text("subject"), // a blank one gets its default where invites are made normal
		MeetingURL:     fields.text("meetingUrl"),
		Platform:       job.Platform(fields.text("platform")),
		ICalUID:        fields.text("icalUid"), // empty for null
	}
	if invite.JoinAt, err = fields.time("joinAt"); err != nil {
		return fmt.Errorf("decode the invite: %w", err)
	}
	result, err := a.settings.Invites.Schedule(r.Context(), invite)
	if err != nil {
		return fmt.Errorf("schedule an invite: %w", err)
	}
	x := exchangeOf(r)
	x.consumer, x.job = result.ConsumerID, result.JobID
	status := http.StatusOK
	if result.Kind == calendar.Scheduled {
		status = http.StatusCreated
	}
	a.writeJSON(w, status, result)
	return nil
}
