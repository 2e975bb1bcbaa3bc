package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// languageTimeout limits the choice of the captions' language.
const languageTimeout = 15 * time.Second

// LanguageError reports that captions are on, but in the page's own language.
type LanguageError struct {
	Language string // that was wanted
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
	languageHidden  = "hidden"  // the page shows no list
)

// chooseLanguage chooses the language of captions in the page's settings, and
// closes them.
func (s *site) chooseLanguage(ctx context.Context, page Page, language string) error {
	choosing, cancel := context.WithTimeout(ctx, languageTimeout)
	defer cancel()
	menu := s.profile.Captions.Language
	arguments, err := json.Marshal([]string{menu.Options, menu.Value, language})
	if err != nil {
		return fmt.Errorf("choose the language of captions: %w", err)
	}
	result := ""
	err = s.poll(choosing, page, func(snapshot Snapshot) (bool, error) {
		if err := page.Eval(choosing, "("+chooseLanguageScript+")(..."+string(arguments)+")", &result); err != nil {
			return false, err
		}
		if result != languageHidden {
			return true, nil
		}
		return false, s.pressLast(choosing, page, snapshot, menu.Open)
	})
	if result == languageMissing {
		err = errors.New("the page does not list it")
	}
	if closeErr := s.closeSettings(ctx, page); err == nil {
		err = closeErr
	}
	if err != nil {
		return &LanguageError{Language: language, Err: err}
	}
	return nil
}

// closeSettings closes the page's settings if they are open.
func (s *site) closeSettings(ctx context.Context, page Page) error {
	closing, cancel := context.WithTimeout(ctx, languageTimeout)
	defer cancel()
	button := s.profile.Captions.Language.Close
	return s.poll(closing, page, func(snapshot Snapshot) (bool, error) {
		if !snapshot.Visible(button) {
			return true, nil
		}
		return false, s.press(closing, page, button)
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
