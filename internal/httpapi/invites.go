package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"standin/internal/calendar"
	"standin/internal/httpmw"
	"standin/internal/job"
)

// Invites schedules jobs from calendar invites.
type Invites interface {
	Schedule(ctx context.Context, invite calendar.Invite) (calendar.Result, error)
}

// inviteRequest is the CalendarInvite schema of api/openapi.yaml.
type inviteRequest struct {
	OrganizerEmail string          `json:"organizerEmail"`
	Subject        string          `json:"subject"`
	MeetingURL     string          `json:"meetingUrl"`
	Platform       job.Platform    `json:"platform"`
	JoinAt         time.Time       `json:"joinAt"`
	ICalUID        string          `json:"icalUid"`
	RecurrenceID   string          `json:"recurrenceId"`
	Cancelled      bool            `json:"cancelled"`
	Source         calendar.Source `json:"source"`
}

func (a *API) intakeInvite(w http.ResponseWriter, r *http.Request) error {
	var invite inviteRequest
	if err := a.readRequest(w, r, "intakeInvite", &invite); err != nil {
		return err
	}
	if isUnset(invite.JoinAt) {
		invite.JoinAt = time.Now()
	}
	result, err := a.settings.Invites.Schedule(r.Context(), calendar.Invite{
		OrganizerEmail: invite.OrganizerEmail, Subject: invite.Subject, MeetingURL: invite.MeetingURL,
		Platform: invite.Platform, JoinAt: invite.JoinAt, ICalUID: invite.ICalUID, RecurrenceID: invite.RecurrenceID, Cancelled: invite.Cancelled, Source: invite.Source,
	})
	if err != nil {
		return fmt.Errorf("schedule an invite: %w", err)
	}
	record := httpmw.RecordOf(r)
	record.ConsumerID, record.JobID = result.ConsumerID, result.JobID
	warn(w, a.describeLink(invite.MeetingURL).warning)
	status := http.StatusOK
	if result.Kind == calendar.Scheduled {
		status = http.StatusCreated
	}
	a.writeJSON(w, status, result)
	return nil
}
