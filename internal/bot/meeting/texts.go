package meeting

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// CaptionLine is a line of the platform's live captions as the page shows it now.
// Its text changes while the platform recognizes more.
type CaptionLine struct {
	Element int    `json:"element"` // identifies the line's element on the page, which may be reused for another line
	Author  string `json:"author"`  // empty when the page does not show it
	Text    string `json:"text"`    // the end of a long text
}

// TextOptions are the texts that a bot reads all the time.
type TextOptions struct {
	Chat     bool   // keeps the chat open
	Captions bool   // turns on live captions
	Language string // language of the captions, BCP 47; empty for the page's own
}

// texts adds the texts of a snapshot to an observation of the meeting.
func (p *Profile) texts(observation *Observation, snapshot Snapshot, ownName string) {
	repeated := make(map[ChatEntry]int)
	for _, entry := range snapshot.Chat {
		message := ChatMessage{ID: entry.ID, Author: entry.Author, Text: entry.Text}
		message.Own = entry.Own || sameName(entry.Author, ownName) ||
			slices.ContainsFunc(p.Chat.OwnNames, func(name string) bool { return strings.EqualFold(name, entry.Author) })
		if message.ID == "" {
			repeated[entry]++
			message.ID = fmt.Sprintf("%d:%s:%s", repeated[entry], entry.Author, entry.Text)
		}
		observation.Chat = append(observation.Chat, message)
	}
	observation.ChatOpen = snapshot.Visible(chatInput)
	observation.CaptionsOn = p.captionsOn(snapshot)
	for _, line := range snapshot.Captions {
		own := func(name string) bool { return strings.EqualFold(name, line.Author) }
		if !slices.ContainsFunc(p.Captions.OwnNames, own) && (ownName == "" || !sameName(line.Author, ownName)) {
			observation.Captions = append(observation.Captions, line)
		}
	}
}

func (p *Profile) captionsOn(snapshot Snapshot) bool {
	return len(snapshot.Captions) > 0 || slices.ContainsFunc(p.Captions.On, snapshot.present)
}

// ShowTexts implements Adapter.
func (s *site) ShowTexts(ctx context.Context, page Page, options TextOptions) error {
	s.shown = options
	if err := s.hideTexts(ctx, page, options); err != nil {
		return err
	}
	if options.Chat {
		if _, err := s.openChat(ctx, page); err != nil {
			return err
		}
	}
	if options.Captions {
		snapshot, err := s.probe.snapshot(ctx, page)
		if err != nil {
			return err
		}
		var languageError error
		if options.Language != "" && s.profile.Captions.Language.Options != "" && !s.profile.captionsOn(snapshot) {
			languageError = s.chooseLanguage(ctx, page, options.Language)
		}
		if len(s.profile.Captions.Enable) == 0 {
			return fmt.Errorf("turn on captions: the profile of %s does not define how", s.profile.Platform)
		}
		err = s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
			if s.profile.captionsOn(snapshot) {
				return true, nil
			}
			for _, element := range slices.Backward(s.profile.Captions.Enable) {
				if snapshot.clickable(element) {
					return false, s.press(ctx, page, element)
				}
			}
			return false, s.uncover(ctx, page, snapshot)
		})
		if err != nil {
			return fmt.Errorf("turn on captions: %w", err)
		}
		return languageError
	}
	return nil
}

// hideTexts adds a style to the page's documents that keeps the chat and the
// captions out of the recorded picture. Opacity 0 would count as hidden; this
// opacity is invisible in a picture with 256 levels.
func (s *site) hideTexts(ctx context.Context, page Page, options TextOptions) error {
	all := slices.Clone(s.profile.Roster.Hidden)
	if options.Chat {
		all = append(all, s.profile.Chat.Hidden...)
	}
	if options.Captions {
		all = append(all, s.profile.Captions.Hidden...)
	}
	var css strings.Builder
	for _, hidden := range all {
		fmt.Fprintf(&css, "%s { opacity: 0.001 !important; %s }\n", hidden.CSS, hidden.Style)
	}
	encoded, _ := json.Marshal(css.String()) // texts always encode
	if err := page.Eval(ctx, hideScript+"("+string(encoded)+")", nil); err != nil {
		return fmt.Errorf("hide texts: %w", err)
	}
	return nil
}

// hideScript sets the style sheet of the page's documents. Constructed style
// sheets need no permission of the page's content security policy.
const hideScript = `(css => {
	const apply = inside => {
		const key = Symbol.for("standin.hidden"), view = inside.defaultView;
		if (!view) return;
		let sheet = view[key];
		if (!sheet) {
			sheet = view[key] = new view.CSSStyleSheet();
			inside.adoptedStyleSheets = [...inside.adoptedStyleSheets, sheet];
		}
		sheet.replaceSync(css);
		for (const frame of inside.querySelectorAll("iframe, frame")) {
			let within = null;
			try { within = frame.contentDocument; } catch { /* of another origin */ }
			if (within && within.documentElement) apply(within);
		}
	};
	apply(document);
})`
