package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"standin/internal/bot/browser"
)

// languageTimeout limits the choice of the captions' language. Each of its steps,
// and closing the settings, may take a third of it.
const languageTimeout = 6 * time.Second

// LanguageError reports that captions are on, but in the page's own language.
type LanguageError struct {
	Language string // the wanted language
	Err      error
}

func (e *LanguageError) Error() string {
	return fmt.Sprintf("choose the language %s for captions: %v", e.Language, e.Err)
}

func (e *LanguageError) Unwrap() error { return e.Err }

// The results of chooseLanguageScript.
const (
	languageChosen  = "chosen"
	languageMissing = "missing" // the page lists others
)

// chooseLanguage chooses the language of captions in the page's settings, and
// closes them.
func (s *site) chooseLanguage(ctx context.Context, page Page, language string) error {
	err := s.pressLanguage(ctx, page, language)
	if closeErr := s.closeSettings(ctx, page); err == nil {
		err = closeErr
	}
	if err != nil {
		return &LanguageError{Language: language, Err: err}
	}
	return nil
}

// pressLanguage opens the page's settings and clicks the option of a language.
func (s *site) pressLanguage(ctx context.Context, page Page, language string) error {
	ctx, cancel := context.WithTimeout(ctx, s.languageTimeout)
	defer cancel()
	menu := s.profile.Captions.Language
	arguments, _ := json.Marshal([]string{menu.Options, menu.Value, language}) // texts always encode
	steps := languageSteps{open: menu.Open, timeout: s.languageTimeout / 3, at: time.Now()}
	return s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
		result := ""
		if err := page.Eval(ctx, "("+chooseLanguageScript+")(..."+string(arguments)+")", &result); err != nil {
			return false, err
		}
		switch result {
		case languageChosen:
			return true, nil
		case languageMissing:
			return false, errors.New("the page does not list it")
		}
		index, err := steps.next(snapshot, time.Now())
		switch {
		case err != nil:
			return false, err
		case index >= 0:
			err := s.click(ctx, page, menu.Open[index])
			if err == nil {
				steps.pressed, steps.at = index+1, time.Now()
			}
			return false, err
		case steps.pressed == 0:
			return false, s.uncover(ctx, page, snapshot)
		}
		return false, nil
	})
}

// languageSteps decides when to press the elements that open the settings, each
// once.
type languageSteps struct {
	open    []string
	timeout time.Duration // limit of the time between two steps
	pressed int           // number of elements pressed, in their order
	at      time.Time     // time of the last step
}

// next returns the index of the element to press now, or -1 to wait. The last
// clickable element is the next one. It is an error if none appears in time.
func (l *languageSteps) next(snapshot Snapshot, now time.Time) (index int, err error) {
	for i, element := range slices.Backward(l.open) {
		if i >= l.pressed && snapshot.clickable(element) {
			return i, nil
		}
	}
	if now.Sub(l.at) < l.timeout {
		return -1, nil
	}
	missing := "list of languages"
	if l.pressed < len(l.open) {
		missing = "element " + l.open[l.pressed]
	}
	return -1, fmt.Errorf("the page does not show the %s", missing)
}

// closeSettings closes the page's settings, or the menu that opens them, if they
// are open.
func (s *site) closeSettings(ctx context.Context, page Page) error {
	ctx, cancel := context.WithTimeout(ctx, s.languageTimeout/3)
	defer cancel()
	menu := s.profile.Captions.Language
	return s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
		switch {
		case snapshot.Visible(menu.Close):
			return false, s.press(ctx, page, menu.Close)
		case slices.ContainsFunc(menu.Open[1:], snapshot.Visible):
			return false, pressKey(ctx, page, "Escape", browser.KeyEscape)
		}
		return true, nil
	})
}

// chooseLanguageScript clicks the option of a language tag: the one with this tag,
// or else, for a tag without a region, the first one of the language.
const chooseLanguageScript = `(css, attribute, language) => {
	const options = [...document.querySelectorAll(css)];
	if (options.length === 0) return "hidden";
	const tag = option => (option.getAttribute(attribute) || "").toLowerCase(), wanted = language.toLowerCase();
	const option = options.find(one => tag(one) === wanted) || options.find(one => tag(one).split("-")[0] === wanted);
	if (!option) return "missing";
	option.click();
	return "chosen";
}`
