package bot

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/bot/spool"
	"standin/internal/job"
)

const (
	diagnosticsTimeout = 5 * time.Second
	maxScreenshot      = 8 << 20 // bytes; text is bounded by meeting.MaxVisibleText
)

// diagnostics saves the screenshot and text of a page that was not understood,
// for the operator who corrects a profile or looks for a fault.
type diagnostics struct {
	log   *slog.Logger
	spool *spool.Spool
	clock *clock
	saved int // captures so far
}

// pageCapture is what a page showed when the bot left it.
type pageCapture struct {
	address    string // without parts that may be secret
	text       string
	blank      bool // the page responded, and has no text
	screenshot []byte
}

// save saves a capture of the page at the end of a session, and adds the names of
// the files to the result's detail. A page that stayed empty while joining is a
// failure of the network.
func (d *diagnostics) save(page *meetingPage, end exitResult) exitResult {
	captured := capturePage(context.Background(), page.tab)
	if page.phase == phaseJoining && page.last.seen.Screen == meeting.Unknown && captured.blank {
		end.code, end.retry = job.NetworkLoss, true
		end.detail = fmt.Sprintf("The meeting page was opened and stayed empty for %s.", page.timeouts.Join)
		return end
	}
	if names := d.write(page, end.detail, captured); len(names) > 0 {
		end.detail += " A capture of the page is among the job's uploads: " + strings.Join(names, ", ") + "."
	}
	return end
}

// saveLater saves a capture of the page during a session.
func (d *diagnostics) saveLater(ctx context.Context, page *meetingPage, reason string) {
	var captured pageCapture
	page.pageQueue.add(ctx, task{
		name: "capture the page", timeout: diagnosticsTimeout,
		do:     func(ctx context.Context) error { captured = capturePage(ctx, page.tab); return nil },
		onDone: func(context.Context, error) *exitResult { d.write(page, reason, captured); return nil },
	})
}

// write adds the files of a capture to the spool and returns their names.
func (d *diagnostics) write(page *meetingPage, reason string, captured pageCapture) (names []string) {
	if captured.text == "" && len(captured.screenshot) == 0 && page.last.seen.Evidence == "" {
		return nil
	}
	put := func(extension string, data []byte) {
		name := fmt.Sprintf("diagnostics-%d.%s", d.saved, extension)
		if err := d.spool.Put(name, data); err != nil {
			d.log.Error("save diagnostics", "name", name, "error", err)
			return
		}
		names = append(names, name)
	}
	if size := len(captured.screenshot); size > 0 && size <= maxScreenshot {
		put("png", captured.screenshot)
	}
	put("txt", []byte(d.describe(page, reason, captured)))
	d.saved++
	d.log.Info("saved diagnostics", "files", names, "address", captured.address)
	return names
}

// describe returns the text file of the diagnostics.
func (d *diagnostics) describe(page *meetingPage, reason string, captured pageCapture) string {
	var b strings.Builder
	fmt.Fprintf(&b, "reason:        %s\n", reason)
	fmt.Fprintf(&b, "time:          %s\n", d.clock.convert(time.Now()).UTC().Format(time.RFC3339))
	fmt.Fprintf(&b, "address:       %s\n", captured.address)
	fmt.Fprintf(&b, "screen:        %s\n", page.last.seen.Screen)
	fmt.Fprintf(&b, "evidence:      %s\n", page.last.seen.Evidence)
	if !page.last.at.IsZero() {
		fmt.Fprintf(&b, "last snapshot: %s earlier\n", time.Since(page.last.at).Round(time.Millisecond))
	}
	if page.last.seen.Dialog != "" {
		fmt.Fprintf(&b, "dialog:        %s\n", page.last.seen.Dialog)
	}
	fmt.Fprintf(&b, "\n%s\n", captured.text)
	return b.String()
}

// capturePage reads the page. It does not wait long: the page may be dead.
func capturePage(ctx context.Context, tab *browser.Page) pageCapture {
	ctx, cancel := context.WithTimeout(ctx, diagnosticsTimeout)
	defer cancel()
	var captured pageCapture
	var reading sync.WaitGroup
	reading.Go(func() {
		text, err := meeting.VisibleText(ctx, tab)
		captured.text, captured.blank = text, err == nil && strings.TrimSpace(text) == ""
	})
	reading.Go(func() { captured.screenshot, _ = tab.Screenshot(ctx) })
	if address, err := tab.URL(ctx); err == nil {
		captured.address = withoutSecrets(address)
	}
	reading.Wait()
	return captured
}

// withoutSecrets removes the parts of an address that may hold passcodes.
func withoutSecrets(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return parsed.String()
}
