package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"standin/internal/account"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// view is the data of every template.
type view struct {
	Title    string
	Page     string
	Notice   string // a confirmation, from notices
	SignedIn bool
	User     account.User
	Mode     job.Mode // that the user works in
	here     url.URL  // of the page, or of the list of jobs if the page cannot be opened again
	Token    string   // of forms

	ModeQuery string // of links from a page about something of a mode; empty on others
	Data      any
}

// ModeURL returns the URL of the page in a mode.
func (v view) ModeURL(mode string) string {
	query := v.here.Query()
	for _, name := range []string{"note", "cursor", "after", "before"} {
		query.Del(name)
	}
	query.Set("mode", mode)
	return v.here.Path + "?" + query.Encode()
}

// Sends reports whether the user may send and control bots.
func (v view) Sends() bool { return v.User.Role.Allows(account.Member) }

// Manages reports whether the user may manage keys, webhooks and users.
func (v view) Manages() bool { return v.User.Role.Allows(account.Admin) }

// pages returns the templates: each page with the layout and the shared parts. They are parsed
// when the first page is shown.
var pages = sync.OnceValue(func() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(functions()).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html"))
	files, _ := fs.Glob(pageFiles, "pages/*.html") // the pattern is well-formed
	parsed := make(map[string]*template.Template)
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		parsed[name] = template.Must(template.Must(shared.Clone()).ParseFS(pageFiles, file))
	}
	return parsed
})

// functions returns the functions of the templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"asset":     assetPath,
		"when":      timeElement("ago", "2 Jan 2006, 15:04:05 UTC"),
		"clock":     Clock,
		"bytes":     func(n int64) string { return humanize.Bytes(uint64(max(0, n))) },
		"duration":  durationText,
		"status":    statusText,
		"tone":      tone,
		"running":   timeElement("running", "since 15:04:05 UTC"), // the script shows how long ago it is
		"hour":      timeElement("hour", "15:04:05"),
		"limit":     limitText,
		"hours":     hoursText,
		"minutes":   minutesText,
		"inminutes": minutesOf,
		"success":   successText,
		"words":     inWords,
		"inc":       func(n int) int { return n + 1 },
		"seconds":   func(milliseconds int64) int64 { return milliseconds / 1000 },
		"gap":       gapText,
		"capacity":  capacityText,
		"gapwidth":  func(start, end int64) int64 { return max(end-start, 1) },
		"sub100":    func(part float64) float64 { return 100 - part },
		"dict": func(pairs ...any) map[string]any {
			fields := make(map[string]any)
			for pair := range slices.Chunk(pairs, 2) {
				fields[fmt.Sprint(pair[0])] = pair[1]
			}
			return fields
		},
		"sources": sourcesText,

		"lasttry":  lastTry,
		"sentence": text.Sentence,

		"text": func(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") },
	}
}

// assetPath returns the URL of an asset with its version, so that browsers may
// cache it forever.
func assetPath(name string) string { return "/assets/" + name + "?v=" + assets()[name].version }

// lastTry returns the last attempt of a delivery; nil before the first.
func lastTry(tries []webhook.Try) *webhook.Try {
	if len(tries) == 0 {
		return nil
	}
	return &tries[len(tries)-1]
}

// timeElement returns a function that formats a time as an element, which the script of the page
// shows in another form: relative to now, or in the time zone of the browser. Without a form, it
// shows the date and the time.
func timeElement(show, layout string) func(time.Time) template.HTML {
	return func(t time.Time) template.HTML {
		if t.IsZero() {
			return "–"
		}
		// #nosec G203 -- a formatted time
		return template.HTML(`<time datetime="` + job.Timestamp(t).String() + `" data-show="` + show + `">` + t.UTC().Format(layout) + `</time>`)
	}
}

// limitText formats a limit in seconds.
func limitText(seconds int) string {
	switch {
	case seconds%3600 == 0:
		return fmt.Sprintf("%d h", seconds/3600)
	case seconds%60 == 0:
		return fmt.Sprintf("%d min", seconds/60)
	}
	return fmt.Sprintf("%d s", seconds)
}

// Clock formats a position in a recording as 1:02:03 or 2:03.
func Clock(milliseconds int64) string {
	seconds := milliseconds / 1000
	if seconds >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// durationText formats a duration.
func durationText(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// inWords returns a name of the API as words.
func inWords(name any) string { return strings.ReplaceAll(fmt.Sprint(name), "_", " ") }

// unlimited is the bot capacity from which on a launcher has no limit.
const unlimited = 1_000_000

// capacityText formats a bot capacity.
func capacityText(bots int) string {
	if bots >= unlimited {
		return "unlimited"
	}
	return strconv.Itoa(bots)
}

// statusTexts are the display names of statuses whose own names are not.
var statusTexts = map[job.Status]string{
	job.EnteringLobby:       "in the lobby",
	job.InMeeting:           "in the meeting",
	job.RecordingStarted:    "recording",
	job.RecordingPaused:     "paused",
	job.RecordingStopped:    "recording stopped",
	job.PermissionRequested: "asking for permission",
	job.Pending:             "waiting for capacity",
	job.PostProcessing:      "processing",
	job.MediaUploading:      "uploading",
}

// statusText returns the display name of a status.
func statusText(s job.Status) string { return cmp.Or(statusTexts[s], string(s)) }

// tone returns the CSS class of a status.
func tone(s job.Status) string {
	return cmp.Or(map[job.Status]string{
		job.Completed: "good", job.Failed: "bad", job.Cancelled: "still", job.RecordingStarted: "live", job.Scheduled: "soon",
		job.Pending: "soon",
	}[s], "busy")
}
