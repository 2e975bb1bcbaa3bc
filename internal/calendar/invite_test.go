package calendar_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

func invite() calendar.Invite {
	return calendar.Invite{
		OrganizerEmail: "ada@example.test", Subject: "Weekly", MeetingURL: "https://zoom.us/j/1", Platform: job.ZoomWeb,
		JoinAt: utc(2026, 11, 20, 10, 0), ICalUID: "uid",
	}
}

func TestNormal(t *testing.T) {
	t.Parallel()
	loose := calendar.Invite{
		OrganizerEmail: " Ada@Example.TEST", Subject: " \t", MeetingURL: " https://zoom.us/j/1 ", Platform: job.ZoomWeb,
		JoinAt: utc(2026, 11, 20, 10, 0).Add(999 * time.Microsecond).In(time.FixedZone("", 3600)), ICalUID: " uid ",
	}
	want := invite()
	want.Subject = calendar.NoSubject
	if got, err := loose.Normal(); err != nil || got != want {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	wrong := map[string][]func(*calendar.Invite){
		"organizerEmail": {
			func(i *calendar.Invite) { i.OrganizerEmail = "" },
			func(i *calendar.Invite) { i.OrganizerEmail = "Ada <ada@example.test>" },
			func(i *calendar.Invite) { i.OrganizerEmail = "ada@example.test, bob@example.test" },
			func(i *calendar.Invite) { i.OrganizerEmail = strings.Repeat("a", 250) + "@x.test" },
			func(i *calendar.Invite) { i.OrganizerEmail = "a\x00@x.test" },
		},
		"meetingUrl": {
			func(i *calendar.Invite) { i.MeetingURL = "" },
			func(i *calendar.Invite) { i.MeetingURL = "zoom.us/j/1" },
			func(i *calendar.Invite) { i.MeetingURL = "ftp://zoom.us/j/1" },
			func(i *calendar.Invite) { i.MeetingURL = "https:///j/1" },
			func(i *calendar.Invite) { i.MeetingURL = "https://zoom.us/j/1 https://zoom.us/j/2" },
			func(i *calendar.Invite) { i.MeetingURL = "https://zoom.us/\x00" },
		},
		"platform": {
			func(i *calendar.Invite) { i.Platform = "" },
			func(i *calendar.Invite) { i.Platform = job.ZoomSDK },
		},
		"joinAt": {
			func(i *calendar.Invite) { i.JoinAt = time.Time{} },
			func(i *calendar.Invite) { i.JoinAt = utc(10000, 1, 1, 0, 0) },
		},
	}
	for field, changes := range wrong {
		for n, change := range changes {
			i := invite()
			change(&i)
			_, err := i.Normal()
			own, _ := errors.AsType[*job.Error](err)
			if own == nil || own.Code != job.InvalidInput || len(own.Path) != 1 || own.Path[0] != field {
				t.Errorf("%s, change %d: %v", field, n, err)
			}
		}
	}
}
