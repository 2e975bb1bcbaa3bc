package job_test

import (
	"strings"
	"testing"

	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

// TestCause checks that details are counted by what they say first, without the names,
// times and texts in them.
func TestCause(t *testing.T) {
	t.Parallel()
	const capture = " A capture of the page is among the job's files: capture-3.zip."
	for detail, want := range map[string]string{
		"": "",
		"The page still showed its pre-join screen when time was up. Seen: text \"Ready to join?\". " +
			"The bot did not reach the join button within 1m0s." + capture: "join_button_missing",
		"The page still showed its pre-join screen when time was up. Seen: nameInput. It waited 600 s.":                                            "stuck_before_joining",
		"The page was not recognized: it shows none of the screens that the profile describes. The bot did not reach the join button within 1m0s.": "page_not_recognized",
		"Nobody let the bot in from the lobby. Seen: text \"The meeting ended. Bot wall: the bot was removed\". It waited 600 s.":                  "lobby_unanswered",
		"The page had no connection for 2m0s (Ada\x00Lovelace). Rejoining failed: The meeting ended.":                                              "connection_lost",
		"the bot's last heartbeat was at 2026-11-02T10:00:00Z: OOMKilled":                                                                          "bot_silent",
		"the bot's last heartbeat was at 2027-01-02T11:30:00Z, and nothing was recorded":                                                           "bot_silent",
		"locate element joinButton: no element joinButton on the page":                                                                             "element_missing",
		"wait for the page: the page has crashed":                                                                                                  "page_crashed",
		"\u202e <script>":                  "other",
		strings.Repeat("The host ", 1<<20): "other",
	} {
		if got := job.NewAttemptEnd(0, "", detail); got.Cause != want || (got.Capture == "capture-3.zip") != strings.HasSuffix(detail, capture) {
			t.Errorf("%.200q is %+v, want %s", detail, got, want)
		}
	}
	if got := job.NewAttemptEnd(0, job.InternalError, "").Cause; got != "other" {
		t.Errorf("a failure without a detail is %q", got)
	}
	seen := make(map[string]meeting.Screen)
	for _, screen := range append(meeting.Screens(), meeting.Unknown) {
		code, detail, ok := screen.Failure()
		cause := job.NewAttemptEnd(0, code, detail).Cause
		if other, used := seen[cause]; ok && (cause == "other" || used && other != meeting.Lobby && screen != meeting.Lobby) {
			t.Errorf("%s is counted as %s, like %s: %s", screen, cause, other, detail)
		}
		seen[cause] = screen
	}
}

// TestChangedCause checks which causes are reported as a change.
func TestChangedCause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		recent, of, before, ofBefore int
		want                         bool
	}{
		{9, 12, 0, 310, true}, {9, 12, 100, 310, false}, {9, 12, 0, 0, false}, {2, 2, 0, 310, false}, {5, 100, 20, 400, false},
		{20, 100, 20, 400, true}, {3, 100, 0, 0, false}, {0, 0, 7, 310, false},
	} {
		if got := (job.CauseCount{Recent: test.recent, RecentOf: test.of, Before: test.before, BeforeOf: test.ofBefore}).Changed(); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}
