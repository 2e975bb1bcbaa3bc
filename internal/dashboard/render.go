package dashboard

import (
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/job"
)

// view is what every page is written from.
type view struct {
	Title    string
	Page     string
	Path     string
	Note     string // what was done, from notes
	SignedIn bool
	User     account.User
	Token    string // of forms
	Data     any
}

// loadPages reads all templates: each page with the layout and the parts that
// all share.
func (d *Dashboard) loadPages() (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(d.functions()).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, fmt.Errorf("read the dashboard's layout: %w", err)
	}
	files, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("list the dashboard's pages: %w", err)
	}
	pages := make(map[string]*template.Template)
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		page, err := template.Must(shared.Clone()).ParseFS(pageFiles, file)
		if err != nil {
			return nil, fmt.Errorf("read page %s: %w", name, err)
		}
		pages[name] = page
	}
	return pages, nil
}

// functions are what templates call.
func (d *Dashboard) functions() template.FuncMap {
	return template.FuncMap{
		"asset":    d.assetPath,
		"when":     when,
		"clock":    clock,
		"bytes":    inBytes,
		"span":     span,
		"platform": platformName,
		"words":    statusWords,
		"tone":     tone,
		"meeting":  meetingName,
		"gap":      explainGap,
		"room":     roomFor,
		"gapwidth": func(start, end int64) int64 { return max(end-start, 1) },
		"sub100":   func(part float64) float64 { return 100 - part },
		"answer":   func(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") },
	}
}

// assetPath is where a page loads a file: under its version, so that it may be
// kept for ever.
func (d *Dashboard) assetPath(name string) string {
	return "/assets/" + name + "?v=" + d.assets[name].version
}

// when writes a moment. The page's script turns it into the reader's own time.
func when(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format("2006-01-02T15:04:05.000Z") + `">` + t.Format("2 Jan 2006, 15:04:05") + ` UTC</time>`) // #nosec G203 -- of a time alone
}

// clock writes a place in a recording, as 1:02:03 or 2:03.
func clock(milliseconds int64) string {
	seconds := milliseconds / 1000
	if seconds >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// inBytes writes a length of a file.
func inBytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/1e9)
}

// span writes how long something took or has been.
func span(d time.Duration) string {
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

// platformName is a platform as people call it.
func platformName(p job.Platform) string {
	switch p {
	case job.Meet:
		return "Google Meet"
	case job.Teams:
		return "Microsoft Teams"
	case job.ZoomWeb:
		return "Zoom"
	case job.ZoomSDK:
		return "Zoom (SDK)"
	}
	return string(p)
}

// roomFor says for how many bots there is room; a launcher without a bound says
// that it has a million places or more.
func roomFor(bots int) string {
	const unbounded = 1_000_000
	if bots >= unbounded {
		return "no bound"
	}
	return strconv.Itoa(bots)
}

// statusWords is a status as people call it.
func statusWords(s job.Status) string {
	switch s {
	case job.EnteringLobby:
		return "in the lobby"
	case job.InMeeting:
		return "in the meeting"
	case job.RecordingStarted:
		return "recording"
	case job.RecordingPaused:
		return "paused"
	case job.RecordingStopped:
		return "recording stopped"
	case job.PermissionRequested:
		return "asking permission"
	case job.Pending:
		return "waiting for room"
	case job.PostProcessing:
		return "processing"
	case job.MediaUploading:
		return "storing"
	}
	return string(s)
}

// tone is the colour of a status.
func tone(s job.Status) string {
	switch s {
	case job.Completed:
		return "good"
	case job.Failed:
		return "bad"
	case job.Cancelled:
		return "still"
	case job.RecordingStarted:
		return "live"
	case job.Scheduled, job.Pending:
		return "soon"
	}
	return "busy"
}

// meetingName is what is shown of a meeting's address where there is little
// room: host and path.
func meetingName(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		rest = address
	}
	rest, _, _ = strings.Cut(rest, "?")
	if runes := []rune(rest); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return rest
}
