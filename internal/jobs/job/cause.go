package job

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// AttemptEnd is how an attempt of a job ended.
type AttemptEnd struct {
	Attempt int
	Code    FailureCode // of the job, if it failed; empty if another attempt followed
	Cause   string      // why it failed, in words joined by underscores; empty if it did not
	Capture string      // the file with what the page showed; empty if there is none
}

// NewAttemptEnd returns the end of an attempt with a failure code and a detail, both of
// which may be empty.
func NewAttemptEnd(attempt int, code FailureCode, detail string) AttemptEnd {
	end := AttemptEnd{Attempt: attempt, Code: code, Capture: capturePattern.FindString(detail)}
	if code != "" || detail != "" {
		end.Cause = "other"
	}
	if match := causePattern.FindStringSubmatch(detail[:min(len(detail), maxSearched)]); match != nil {
		first := slices.IndexFunc(match[1:], func(group string) bool { return group != "" })
		end.Cause = causePattern.SubexpNames()[1+first]
	}
	return end
}

const maxSearched = 1000 // bytes of a detail, whose cause is at the beginning

var capturePattern = regexp.MustCompile(`capture-\d{1,4}\.zip`)

// causePattern finds what a failure's detail says first: names, times, texts of the page
// and what followed come behind that. An earlier line wins at the same position.
var causePattern = regexp.MustCompile("(?is)" + strings.ReplaceAll(strings.TrimSpace(`
(?P<join_button_missing>still showed its pre-join screen.*did not reach the join button)
(?P<stuck_before_joining>still showed its pre-join screen)
(?P<page_not_recognized>the page was not recognized)
(?P<closed_in_unknown_words>the page closed the call, and says why in words)
(?P<sign_in_required>sign-in wall|only signed-in users)
(?P<bot_refused>bot wall)
(?P<no_account>has no account for the bot|could not sign in)
(?P<sign_in_failed>google did not sign the bot in)
(?P<lobby_unanswered>nobody let the bot in|nobody admitted the bot|ended the wait in the lobby)
(?P<denied>denied the request to join)
(?P<host_absent>the host did not (come|start))
(?P<meeting_not_found>no such meeting|the meeting does not exist)
(?P<removed>the bot was (removed|moved back to the lobby))
(?P<meeting_ended>the meeting ended)
(?P<cannot_connect>the meeting page cannot connect|connection to the meeting was lost)
(?P<connection_lost>the page (lost its|had no) connection|the page was reloaded)
(?P<another_screen>the page showed another screen|the page shows )
(?P<home_page>the platform sent the bot to its home page)
(?P<foreign_address>does not belong to a meeting platform)
(?P<page_not_loaded>the page did not load)
(?P<page_crashed>the page has crashed)
(?P<browser_gone>the browser is gone|the browser crashed)
(?P<element_missing>no element |another element covers|is not visible)
(?P<script_failed>script failed|the page returned no result)
(?P<recorder_failed>the meeting cannot be recorded|the bot could not record)
(?P<recording_not_permitted>needs the host's permission|did not permit)
(?P<told_to_leave>told to leave|left on request)
(?P<bot_stopped>the bot's process was (asked to stop|stopped))
(?P<bot_ended>the bot's process has ended|the bot ended before)
(?P<bot_silent>last heartbeat was|sent no heartbeat)
(?P<bot_not_started>the bot could not be started|the bot has not started)
(?P<node_gone>the node that started the attempt is gone)
(?P<too_late>no bot could be sent by|the meeting was over at)
(?P<state_too_long>longer than the limit of)
(?P<no_zoom_app>no credentials of an app of zoom)
(?P<no_zoom_stream>zoom announced no media stream)
(?P<quota>quota|limit of \d+ calendar meetings)
`), "\n", "|"))

// CauseWeeks is how many weeks a CauseCount covers, the last seven days included.
const CauseWeeks = 5

// CauseCount is how many attempts of live jobs on a platform, with an account, failed for
// a cause.
type CauseCount struct {
	Platform Platform
	Account  string // label; empty for guests
	Code     FailureCode
	Cause    string

	Recent   int       // in the last seven days
	RecentOf int       // all attempts on the platform with the account since the first of these
	Before   int       // in the weeks before
	BeforeOf int       // all attempts before the first of the last seven days
	Weeks    []int     // by age, the last seven days first
	First    time.Time // in all weeks
	Since    time.Time // the first one of the last seven days; zero without one
	Capture  string    // path of the capture of the newest job that has one, below that of all jobs; empty without one
}

// Changed reports whether the cause makes up three times the share of attempts that it did
// before.
func (c CauseCount) Changed() bool {
	return c.Recent >= 3 && c.Recent*(c.BeforeOf+1) >= 3*c.RecentOf*(c.Before+1)
}
