package meeting

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
)

// recordedPage is a page that shows a form, and something else once it was joined.
type recordedPage struct {
	Page // nil: a bot that joins calls only the methods below

	shown, after Snapshot
	pressed      []string
	err          error
}

func (p *recordedPage) Eval(_ context.Context, expression string, out any) error {
	if snapshot, ok := out.(**Snapshot); ok && p.err == nil {
		shown := p.shown
		*snapshot = &shown
	} else if out == nil {
		p.click(expression)
	}
	return p.err
}

func (p *recordedPage) EvalInPage(context.Context, string, any) error { return p.err }

func (p *recordedPage) ClickElement(_ context.Context, expression string) error {
	p.click(expression)
	return p.err
}

func (p *recordedPage) TypeInto(_ context.Context, _, name, text string) error {
	field := p.shown.Elements[name]
	field.Value = text
	p.shown.Elements[name] = field
	return p.err
}

// click presses the element that an expression of the probe yields.
func (p *recordedPage) click(expression string) {
	expression = expression[max(0, len(expression)-100):] // it begins with the script
	for _, element := range usableElements() {
		if !strings.Contains(expression, `,"`+element+`")`) {
			continue
		}
		p.pressed = append(p.pressed, element)
		if off, device := map[string]string{microphoneOn: microphoneOff, cameraOn: cameraOff}[element]; device {
			p.shown.Elements[off] = p.shown.Elements[element]
		}
		if delete(p.shown.Elements, element); element == joinButton {
			p.shown = p.after
		}
	}
}

// TestJoinRecordedPages joins the forms of TestField's records, under the name and with
// the devices off.
func TestJoinRecordedPages(t *testing.T) {
	t.Parallel()
	for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
		joined := 0
		for page, all := range readRecords(t, fieldScripts()[platform]).Pages {
			form := all[0].Snapshot
			if !form.Visible(nameInput) || !form.clickable(joinButton) || len(all) < 2 || all[1].Snapshot.Visible(joinButton) {
				continue
			}
			joined++
			synctest.Test(t, func(t *testing.T) {
				form.Elements = maps.Clone(form.Elements)
				form.Elements[nameInput] = VisibleElement{}
				for on, off := range map[string]string{microphoneOn: microphoneOff, cameraOn: cameraOff} {
					if device, visible := form.Elements[off]; visible {
						delete(form.Elements, off)
						form.Elements[on] = device
					}
				}
				opened := &recordedPage{shown: form, after: all[1].Snapshot}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := siteOf(t, platform).Join(ctx, opened, JoinOptions{Name: "Standin"})
				var over *ScreenError
				if err != nil && !errors.As(err, &over) || form.Elements[nameInput].Value != "Standin" || form.Visible(microphoneOn) ||
					form.Visible(cameraOn) {
					t.Errorf("%s: joined with %+v: %v", page, form.Elements, err)
				}
				presses := slices.DeleteFunc(opened.pressed, func(element string) bool { return element != joinButton })
				if len(presses) != 1 {
					t.Errorf("%s: pressed %q", page, opened.pressed)
				}
			})
		}
		if joined < 50 {
			t.Errorf("%d pages of %s were joined", joined, platform)
		}
	}
}

// TestUnknownPage checks the errors for a page that never becomes a meeting, and for one
// that is closed.
func TestUnknownPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		err := siteOf(t, job.Teams).Join(ctx, &recordedPage{}, JoinOptions{Name: "Standin"})
		var stopped *ScreenError
		if !errors.As(err, &stopped) || stopped.Observation.Screen != Unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("joining: %v; want a ScreenError with an unknown page and the deadline", err)
		}
		closed := &recordedPage{err: browser.ErrPageClosed}
		if err := siteOf(t, job.Teams).Join(t.Context(), closed, JoinOptions{Name: "Standin"}); !errors.Is(err, browser.ErrPageClosed) {
			t.Errorf("joining on a closed page: %v, want %v", err, browser.ErrPageClosed)
		}
		if _, err := siteOf(t, job.Teams).Observe(t.Context(), closed); !errors.Is(err, browser.ErrPageClosed) {
			t.Errorf("observing a closed page: %v, want %v", err, browser.ErrPageClosed)
		}
	})
}
