package meetinglink_test

import (
	"testing"

	"standin/internal/base/meetinglink"
	"standin/internal/jobs/job"
)

func TestPlatformOf(t *testing.T) {
	t.Parallel()
	tests := map[string]job.Platform{
		"https://meet.google.com/abc-defg-hij":                   job.Meet,
		"https://zoom.us/j/123":                                  job.ZoomWeb,
		"https://us02web.zoom.us/j/123?pwd=x":                    job.ZoomWeb,
		"https://zoom.com/j/123":                                 job.ZoomWeb,
		"https://ZOOM.US./j/1":                                   job.ZoomWeb,
		"https://zoomgov.com/j/1":                                job.ZoomWeb,
		"https://zoom.corp.example/j/1":                          job.ZoomWeb,
		"https://www.zoominfo.com/j/1":                           job.Meet,
		"https://teams.cloud.microsoft/meet/1":                   job.Teams,
		"https://notzoom.us/j/1":                                 job.Meet,
		"https://meet.example/zoom.us/j/1":                       job.Meet,
		"https://meet.example/?u=teams.microsoft.com":            job.Meet,
		"https://teams.microsoft.com/l/meetup-join/x":            job.Teams,
		"https://teams.live.com/meet/1":                          job.Teams,
		"https://gov.teams.microsoft.us/l/meetup-join/x":         job.Teams,
		"https://dod.teams.microsoft.us/l/meetup-join/x":         job.Teams,
		"https://teams.corp.example/x":                           job.Teams,
		"https://teams.microsoft.com.evil.example/l/meetup-join": job.Teams, // a label that starts with teams
		"https://microsoft.com/teams":                            job.Meet,
		"http://127.0.0.1:4000/abc-defg-hij":                     job.Meet,
	}
	for address, want := range tests {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			if got := meetinglink.PlatformOf(address); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
