package meeting

import (
	"context"
	"fmt"
	"strings"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
)

// Join implements Adapter.
func (s *site) Join(ctx context.Context, page Page, options JoinOptions) error {
	name := Truncate(SingleLine(options.Name), s.profile.Limits.Name)
	if name == "" {
		name = job.DefaultDisplayName
	}
	observed := options.Observed
	if observed == nil {
		observed = func(Observation) {}
	}
	s.visit.reset()
	s.kept.reset()
	progress := newJoinSteps(name, SingleLine(options.Passcode))
	var last Observation
	err := s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
		now := time.Now()
		if field, visible := snapshot.Elements[nameInput]; visible && field.Value != "" &&
			strings.HasPrefix(withoutFormatting(name), withoutFormatting(field.Value)) {
			s.visit.setName(field.Value) // the page may have cut it
		}
		last = s.observe(snapshot, now)
		if observed(last); last.Pending != "" {
			return false, nil
		}
		if IsHomePage(snapshot.Host) || strings.HasPrefix(snapshot.Path, "/products/meet") {
			return false, ErrHomePage
		}
		if last.CloseDialog != nil {
			return false, s.closeDialog(ctx, page, *last.CloseDialog)
		}
		switch next := progress.next(snapshot, last.Screen, now); next.kind {
		case stepDone:
			return true, nil
		case stepFail:
			if next.evidence != "" {
				last.Screen, last.Evidence, last.Reasons = NotFound, next.evidence, nil
				observed(last)
			}
			return false, &ScreenError{Observation: last}
		case stepPress:
			if next.element == joinButton || next.element == joinInDialog {
				s.visit.request(time.Now())
			}
			if s.kept.press(next.element) {
				return false, s.press(ctx, page, next.element)
			}
		case stepClick:
			s.visit.request(now)
			return false, clickScript(ctx, page, next.element, s.probe.find(next.element))
		case stepType:
			return false, page.TypeInto(ctx, s.probe.find(next.element), next.element, next.text)
		case stepEnter:
			return false, pressKey(ctx, page, "Enter", browser.KeyEnter)
		case stepReload:
			return false, reload(ctx, page)
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil {
		if last.Pending != "" {
			last.Screen = last.Pending // there is no time left to confirm it
		}
		return &ScreenError{Observation: last, Cause: ctx.Err()}
	}
	return err
}

// joinAudioTimeout limits the search for the control, which may be in a hidden toolbar.
const joinAudioTimeout = 3 * time.Second

// RejoinAudio presses the page's control that joins its audio, if the profile has
// one and the page shows it. HandleNotices presses what the page asks next: computerAudio or
// allowDevices.
func (s *site) RejoinAudio(ctx context.Context, page Page) error {
	if len(s.profile.Elements[joinAudio]) == 0 {
		return nil
	}
	// The page may have no such control.
	_, err := s.pollFor(ctx, page, joinAudioTimeout, func(ctx context.Context, snapshot Snapshot) (bool, error) {
		if !snapshot.clickable(joinAudio) {
			return false, s.showToolbars(ctx, page, snapshot)
		}
		return true, s.click(ctx, page, joinAudio)
	})
	if err != nil {
		return fmt.Errorf("join the page's audio: %w", err)
	}
	return nil
}
