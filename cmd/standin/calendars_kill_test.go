package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/testing/calendartest"
)

// TestCalendarKills kills the service by SIGKILL while it reads a calendar that changes,
// and checks after each restart and the next read that every meeting has one job, at its
// time.
func TestCalendarKills(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts a service many times")
	}
	t.Parallel()
	const meetings, rounds = 60, 12
	double := calendartest.New(t)
	double.SetPageSize(25)
	settings := double.Settings()
	s := startTarget(t, newDataDir(t), "STANDIN_MICROSOFT_CLIENT_ID="+settings.MicrosoftClientID, "STANDIN_MICROSOFT_CLIENT_SECRET="+settings.MicrosoftClientSecret,
		"STANDIN_MICROSOFT_LOGIN_URL="+settings.MicrosoftLoginURL, "STANDIN_MICROSOFT_GRAPH_URL="+settings.MicrosoftGraphURL)
	key := s.key("ann")
	created := s.call(http.MethodPost, "/api/v1/calendars", key, map[string]any{"name": "Ann", "provider": "microsoft", "refreshToken": double.RefreshToken()})
	id, ok := created.field("id").(string)
	if !ok {
		t.Fatalf("connect: %d %s", created.status, created.body)
	}

	random := rand.New(rand.NewPCG(1, 2))
	base := time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour)
	starts := make(map[int]time.Time) // of the meetings that there are
	link := func(n int) string { return fmt.Sprintf("https://us02web.zoom.us/j/86012340%03d", n) }
	change := func() {
		for n := range meetings {
			name := fmt.Sprintf("meeting-%d", n)
			_, known := starts[n]
			switch choice := random.IntN(3); {
			case choice == 0 && known:
				double.Delete(calendartest.Main, name)
				delete(starts, n)
			case choice == 1 || !known:
				starts[n] = base.Add(time.Duration(random.IntN(400)) * time.Hour)
				double.Set(calendartest.Main, calendartest.Event{ID: name, Title: name, Start: starts[n], Conference: link(n)})
			}
		}
	}
	kills := 0
	for round := range rounds {
		change()
		reading := make(chan struct{})
		go func(base string) {
			defer close(reading)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/v1/calendars/"+id+"/sync", nil)
			if err != nil {
				return
			}
			request.Header.Set("Authorization", "Bearer "+key)
			if response, err := http.DefaultClient.Do(request); err == nil { // else the service was killed
				response.Body.Close()
			}
		}(s.base)
		select {
		case <-reading:
		case <-time.After(time.Duration(random.IntN(250)) * time.Millisecond): // until a random moment of the read
			kills++
		}
		s.stop(syscall.SIGKILL)
		<-reading
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		if read := s.call(http.MethodPost, "/api/v1/calendars/"+id+"/sync", key, nil); read.status != http.StatusOK || !strings.Contains(read.body, `"state":"active"`) {
			t.Fatalf("round %d: %d %s", round, read.status, read.body)
		}
		var want []string
		for n, start := range starts {
			want = append(want, link(n)+" "+start.Format(time.RFC3339))
		}
		slices.Sort(want)
		if got := scheduledMeetings(s, key); !slices.Equal(got, want) {
			t.Fatalf("round %d: jobs\n%s\nwant\n%s", round, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	t.Logf("the service was killed %d times, %d of them during a read", rounds, kills)
}

// scheduledMeetings returns the link and the time of each job that is scheduled.
func scheduledMeetings(s *target, key string) (found []string) {
	s.Helper()
	cursor := ""
	for {
		var page struct {
			Jobs []struct {
				MeetingURL string    `json:"meetingUrl"`
				JoinAt     time.Time `json:"joinAt"`
			} `json:"jobs"`
			NextCursor *string `json:"nextCursor"`
		}
		response := s.call(http.MethodGet, "/api/v1/jobs?status=scheduled&limit=100"+cursor, key, nil)
		if err := json.Unmarshal([]byte(response.body), &page); err != nil {
			s.Fatalf("list jobs: %v in %s", err, response.body)
		}
		for _, j := range page.Jobs {
			found = append(found, j.MeetingURL+" "+j.JoinAt.UTC().Format(time.RFC3339))
		}
		if page.NextCursor == nil || *page.NextCursor == "" {
			slices.Sort(found)
			return found
		}
		cursor = "&cursor=" + *page.NextCursor
	}
}
