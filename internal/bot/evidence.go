package bot

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/job"
)

const (
	// evidenceTime bounds what is done to keep what a page shows.
	evidenceTime = 5 * time.Second
	// mostPicture bounds the picture that is kept, in bytes. The text is bounded
	// by meeting.MaxVisibleText.
	mostPicture = 8 << 20
)

// evidence is what a page showed when the bot gave it up.
type evidence struct {
	address string // without what may be secret in it
	text    string
	blank   bool // the page answered, and has no text
	picture []byte
}

// evidenceName names the visit's evidence among the attempt's uploads.
func evidenceName(visit int, extension string) string {
	return fmt.Sprintf("diagnostics-%d.%s", visit, extension)
}

// keepEvidence keeps a picture and the text of a page that was not understood,
// for the operator who mends a profile or looks for a fault. It returns the
// ending with what was found out.
func (v *visit) keepEvidence(end ending) ending {
	found := v.gatherEvidence()
	if v.phase == arriving && v.last.Screen == meeting.Unknown && found.blank {
		// It is no page that a profile could describe: its parts never came.
		end.code, end.again = job.NetworkLoss, true
		end.detail = fmt.Sprintf("The meeting page was opened and stayed empty for %s.", v.Timeouts.Join)
		return end
	}
	if found.text == "" && len(found.picture) == 0 && v.last.Evidence == "" {
		return end // a page with nothing to say
	}
	var kept []string
	keep := func(extension string, data []byte) {
		name := evidenceName(v.number, extension)
		if err := v.spool.Put(name, data); err != nil {
			v.Log.Error("cannot keep what the page showed", "name", name, "error", err)
			return
		}
		kept = append(kept, name)
	}
	if size := len(found.picture); size > 0 && size <= mostPicture {
		keep("png", found.picture)
	}
	keep("txt", []byte(v.evidenceText(end, found)))
	if len(kept) > 0 {
		v.Log.Info("what the page showed is kept", "files", kept, "address", found.address)
		end.detail += " What the page showed is kept among the job's uploads: " + strings.Join(kept, ", ") + "."
	}
	return end
}

// gatherEvidence asks the page, and does not wait long: it may be dead.
func (v *visit) gatherEvidence() evidence {
	ctx, cancel := context.WithTimeout(context.Background(), evidenceTime)
	defer cancel()
	var found evidence
	var gathering sync.WaitGroup
	gathering.Go(func() {
		text, err := meeting.VisibleText(ctx, v.page)
		found.text, found.blank = text, err == nil && strings.TrimSpace(text) == ""
	})
	gathering.Go(func() { found.picture, _ = v.page.Screenshot(ctx) })
	if address, err := v.page.URL(ctx); err == nil {
		found.address = withoutSecrets(address)
	}
	gathering.Wait()
	return found
}

// evidenceText is the text that is kept.
func (v *visit) evidenceText(end ending, found evidence) string {
	var b strings.Builder
	fmt.Fprintf(&b, "why:       %s\n", end.detail)
	fmt.Fprintf(&b, "at:        %s\n", v.clock.steady(time.Now()).UTC().Format(time.RFC3339))
	fmt.Fprintf(&b, "address:   %s\n", found.address)
	fmt.Fprintf(&b, "screen:    %s\n", v.last.Screen)
	fmt.Fprintf(&b, "known by:  %s\n", v.last.Evidence)
	if !v.lastAt.IsZero() {
		fmt.Fprintf(&b, "last look: %s before\n", time.Since(v.lastAt).Round(time.Millisecond))
	}
	if v.last.Dialog != "" {
		fmt.Fprintf(&b, "dialog:    %s\n", v.last.Dialog)
	}
	fmt.Fprintf(&b, "\n%s\n", found.text)
	return b.String()
}

// withoutSecrets is an address without its query and fragment, which may hold
// passcodes.
func withoutSecrets(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return parsed.String()
}
