package store_test

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
	"standin/internal/store"
)

// TestSearchJobs checks that a search finds whole IDs and parts of texts, ignoring
// case.
func TestSearchJobs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer, other := newConsumer(t, s), newConsumer(t, s)
		var jobs []job.Record
		for i, text := range []string{"Stand-up 100%", "stand-up 1000", "review_a", "reviewXa", "plain!"} {
			r := newJob(consumer.ID)
			r.ExternalID, r.CreatedAt = text, now.Add(time.Duration(i)*time.Minute)
			jobs = append(jobs, r)
		}
		jobs[4].MeetingURL, jobs[4].DisplayName = "https://acme.zoom.us/j/42", "Björn's Bot"
		jobs[0].Options.Title, jobs[2].Metadata = "Budget & plan", json.RawMessage(`{"title":"Budget 2027","x":"all-hands"}`)
		foreign, test := newJob(other.ID), newJob(consumer.ID)
		foreign.ExternalID, test.ExternalID, test.Mode = "stand-up", "stand-up", job.Test
		insert(t, s, append(jobs, foreign, test)...)
		for text, want := range map[string][]int{
			"stand-up": {1, 0}, "STAND-UP": {1, 0}, "100%": {0}, "review_a": {2}, "w_": {2}, "!": {4}, "acme.zoom": {4}, "Bot": {4}, "BUDGET": {2, 0}, "nothing": nil,
			jobs[3].ID.String(): {3}, foreign.ID.String(): nil,
		} {
			found, err := s.SearchJobs(t.Context(), live(consumer.ID), text, 100)
			if err != nil {
				t.Fatal(err)
			}
			var got, wanted []uuid.UUID
			for _, j := range found {
				got = append(got, j.ID)
			}
			for _, i := range want {
				wanted = append(wanted, jobs[i].ID)
			}
			if !slices.Equal(got, wanted) {
				t.Errorf("%q finds %v, want the jobs %v", text, got, want)
			}
		}
	})
}

// TestFailureCauses checks the counts by cause, platform, account and week.
func TestFailureCauses(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		const label = "\u202e<b>Recorder</b>"
		account := signin.Account{ID: uuid.Must(uuid.NewV7()), Platform: job.Meet, Label: label, MaxMeetings: 1, CreatedAt: now, RenewedAt: now}
		if err := s.AddAccount(t.Context(), account); err != nil {
			t.Fatal(err)
		}
		const hour, day = time.Hour, 24 * time.Hour
		var newest job.Record
		end := func(ago time.Duration, platform job.Platform, signedIn bool, end job.AttemptEnd) {
			t.Helper()
			r := newJob(consumer.ID)
			r.Platform = platform
			insert(t, s, r)
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				if signedIn {
					if err := tx.LendAccount(ctx, account.ID, signin.Use{JobID: r.ID, Reason: "invited", At: now}); err != nil {
						return err
					}
				}
				change := store.JobChange{Record: r, Now: now.Add(-ago), AttemptEnds: []job.AttemptEnd{end}}
				if err := tx.SaveJob(ctx, change); err != nil {
					return err
				}
				return tx.SaveJob(ctx, change) // again: it is counted once
			})
			if end.Capture != "" {
				newest = r
			}
		}
		missing := job.AttemptEnd{Attempt: 2, Code: job.InternalError, Cause: "join_button_missing", Capture: "capture-0.zip"}
		for i := range 310 {
			end(8*day+time.Duration(i)*2*hour, job.Meet, false, job.AttemptEnd{})
		}
		end(30*hour, job.Meet, false, job.AttemptEnd{})
		for i := range 9 {
			end(time.Duration(20-i)*hour, job.Meet, false, missing)
			if i < 3 {
				end(time.Duration(i)*hour, job.Meet, false, job.AttemptEnd{})
			}
		}
		end(hour, job.Teams, true, missing)
		end(0, job.Teams, false, job.AttemptEnd{})
		end(9*day, job.Teams, false, job.AttemptEnd{})
		end(hour, job.Meet, false, job.AttemptEnd{Cause: "bot_silent"})
		end(10*day, job.Meet, false, job.AttemptEnd{Code: job.LobbyTimeout, Cause: "lobby_unanswered"})
		end(20*day, job.Meet, false, job.AttemptEnd{Code: job.LobbyTimeout, Cause: "lobby_unanswered"})
		end(36*day, job.Meet, false, job.AttemptEnd{Code: job.LobbyTimeout, Cause: "lobby_unanswered"})
		captured := newest

		causes, err := s.FailureCauses(t.Context(), now, 50)
		if err != nil {
			t.Fatal(err)
		}
		want := []job.CauseCount{
			{Platform: job.Meet, Code: job.InternalError, Cause: "join_button_missing", Recent: 9, RecentOf: 13, BeforeOf: 313,
				Weeks: []int{9, 0, 0, 0, 0}, First: now.Add(-20 * hour), Since: now.Add(-20 * hour)},
			{Platform: job.Teams, Account: label, Code: job.InternalError, Cause: "join_button_missing", Recent: 1, RecentOf: 1,
				Weeks: []int{1, 0, 0, 0, 0}, First: now.Add(-hour), Since: now.Add(-hour)},
			{Platform: job.Meet, Cause: "bot_silent", Recent: 1, RecentOf: 3, BeforeOf: 323,
				Weeks: []int{1, 0, 0, 0, 0}, First: now.Add(-hour), Since: now.Add(-hour)},
			{Platform: job.Meet, Code: job.LobbyTimeout, Cause: "lobby_unanswered", Before: 2, BeforeOf: 312,
				Weeks: []int{0, 1, 1, 0, 0}, First: now.Add(-20 * day)},
		}
		for i := range causes {
			if got := causes[i].Capture; (causes[i].Cause == missing.Cause) != strings.HasSuffix(got, "/captures/2/capture-0.zip") {
				t.Errorf("%s has the capture %q", causes[i].Cause, got)
			}
			if causes[i].Account == label && !strings.HasPrefix(causes[i].Capture, captured.ID.String()) {
				t.Errorf("the newest capture is %s, not of %s", causes[i].Capture, captured.ID)
			}
			causes[i].Capture = ""
		}
		byKey := func(a, b job.CauseCount) int {
			return cmp.Or(b.Recent-a.Recent, strings.Compare(string(b.Platform), string(a.Platform)), strings.Compare(a.Cause, b.Cause))
		}
		slices.SortFunc(causes, byKey)
		slices.SortFunc(want, byKey)
		if !reflect.DeepEqual(causes, want) {
			t.Errorf("got\n%+v\nwant\n%+v", causes, want)
		}
		if one, err := s.FailureCauses(t.Context(), now, 1); err != nil || len(one) != 1 || one[0].Recent != 9 || !one[0].Changed() {
			t.Errorf("the most frequent is %+v, %v", one, err)
		}
	})
}

// TestOverview checks the counts and lists of the overview.
func TestOverview(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		due, later, loud, silent, old := newJob(consumer.ID), newJob(consumer.ID), newJob(consumer.ID), newJob(consumer.ID), newJob(consumer.ID)
		due.WakeAt, later.WakeAt = now.Add(-time.Minute), now.Add(time.Hour)
		loud.HeartbeatAt, silent.HeartbeatAt = now.Add(-time.Second), now.Add(-time.Minute)
		loud.Status, silent.Status = job.InMeeting, job.RecordingStarted
		loud.WakeAt, silent.WakeAt = now.Add(time.Minute), now.Add(time.Minute)
		failed := []job.Record{due, later, loud, silent}
		for i, code := range []job.FailureCode{job.LobbyTimeout, job.LobbyTimeout, job.AuthFailure} {
			r := newJob(consumer.ID)
			r.Status, r.FailureCode, r.FailureDetail, r.WakeAt = job.Failed, code, "why", time.Time{}
			r.StatusSince = now.AddDate(0, 0, -i/2).Add(-time.Duration(i) * time.Millisecond)
			failed = append(failed, r)
		}
		old.Status, old.FailureCode, old.WakeAt, old.StatusSince = job.Failed, job.NetworkLoss, time.Time{}, now.AddDate(0, 0, -30)
		failed = append(failed, old)
		insert(t, s, failed...)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, r := range failed {
				if err := tx.SaveJob(ctx, store.JobChange{Record: r}); err != nil {
					return err
				}
			}
			return nil
		})
		o, err := s.Overview(t.Context(), job.Live, now)
		if err != nil {
			t.Fatal(err)
		}
		if o.Overdue.Waiting != 1 || !o.Overdue.Since.Equal(due.WakeAt) || o.Active[job.Scheduled] != 2 || o.Deliveries.Waiting != 0 ||
			o.Commands != 0 {
			t.Errorf("backlog %+v", o)
		}
		if len(o.Bots) != 2 || o.Bots[0].JobID != silent.ID || o.Bots[1].JobID != loud.ID || o.Bots[0].Consumer != consumer.Name {
			t.Errorf("bots %+v", o.Bots)
		}
		today := now.Truncate(24 * time.Hour)
		want := []job.FailureCount{{Day: today.AddDate(0, 0, -1), Code: job.AuthFailure, Jobs: 1}, {Day: today, Code: job.LobbyTimeout, Jobs: 2}}
		if len(o.Failures) != 2 || o.Failures[0] != want[0] || o.Failures[1] != want[1] {
			t.Errorf("failures: %+v, want %+v", o.Failures, want)
		}
		reasons := []job.FailureReason{
			{Code: job.LobbyTimeout, Platform: failed[4].Platform, Day: 2, Week: 2},
			{Code: job.AuthFailure, Platform: failed[4].Platform, Week: 1},
		}
		if !slices.Equal(o.Reasons, reasons) {
			t.Errorf("reasons: %+v, want %+v", o.Reasons, reasons)
		}
		if test, err := s.Overview(t.Context(), job.Test, now); err != nil || len(test.Recent)+len(test.Failures)+len(test.Reasons) != 0 {
			t.Errorf("failures of test jobs: %+v, %v", test, err)
		}
		page, err := s.FailedJobs(t.Context(), job.Live, job.FailureFilter{
			Code: job.LobbyTimeout, Platform: failed[4].Platform, Since: now.Add(-time.Hour),
		}, 1)
		if err != nil || len(page) != 1 {
			t.Fatalf("failed jobs: %+v, %v", page, err)
		}
		rest, err := s.FailedJobs(t.Context(), job.Live, job.FailureFilter{
			Code: job.LobbyTimeout, After: job.FailureCursor{At: page[0].At, ID: page[0].JobID},
		}, 5)
		if err != nil || len(rest) != 1 || rest[0].JobID == page[0].JobID {
			t.Errorf("the second page: %+v, %v", rest, err)
		}
		if len(o.Recent) != 4 || o.Recent[3].JobID != old.ID || o.Recent[0].Detail != "why" {
			t.Errorf("recent failures: %+v", o.Recent)
		}
	})
}
