package meeting

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"standin/internal/jobs/job"
)

// arrangeScript is a JavaScript function; its comment describes it.
//
//go:embed arrange.js
var arrangeScript string

// arrangeFunction is the script in a document that has it: to compile it takes longer than to
// run it.
const arrangeFunction = `window[Symbol.for("standin.arrange")]`

// picture is the state of a page's arrangement. It is safe for concurrent use: the page
// is observed while commands work on it.
type picture struct {
	mutex     sync.Mutex
	arranged  bool   // the page may be arranged
	suspended bool   // a command needs the page as it is
	pinned    string // ID of the pinned participant; may be empty
}

// tileRole is what arrange.js needs to know of a tile.
type tileRole struct {
	Own      bool `json:"own"`
	Speaking bool `json:"speaking"`
	Pinned   bool `json:"pinned"`

	id string
}

// Arrange implements Adapter.
func (s *site) Arrange(ctx context.Context, page Page, observation Observation, layout job.Layout) error {
	s.picture.mutex.Lock()
	defer s.picture.mutex.Unlock()
	if s.picture.suspended {
		return nil
	}
	if len(observation.tiles) == 0 || layout == "" {
		layout = job.LayoutPage
	}
	if layout == job.LayoutPage && !s.picture.arranged {
		return nil
	}
	for i := range observation.tiles {
		tile := &observation.tiles[i]
		tile.Pinned = tile.id != "" && tile.id == s.picture.pinned
	}
	return s.arrange(ctx, page, observation, layout)
}

// arrange calls the script. The mutex of the picture is held.
func (s *site) arrange(ctx context.Context, page Page, observation Observation, layout job.Layout) error {
	request, _ := json.Marshal(struct { // texts always encode
		Layout job.Layout `json:"layout"`
		Number int        `json:"number"`
		Roles  []tileRole `json:"roles"`
		Picture
	}{layout, observation.tileList, observation.tiles, s.profile.Picture})
	arranged := false
	err := page.Eval(ctx, fmt.Sprintf("%[1]s ? (%[1]s(%[2]s), true) : false", arrangeFunction, request), &arranged)
	if err == nil && !arranged { // the document is new
		err = page.Eval(ctx, fmt.Sprintf("(%s = %s)(%s)", arrangeFunction, arrangeScript, request), nil)
	}
	if err != nil {
		return fmt.Errorf("arrange the picture: %w", err)
	}
	s.picture.arranged = layout != job.LayoutPage
	return nil
}

// suspendPicture puts the page back until resume is called: what has to be pressed in a
// tile is where the page puts it.
func (s *site) suspendPicture(ctx context.Context, page Page) error {
	s.picture.mutex.Lock()
	defer s.picture.mutex.Unlock()
	s.picture.suspended = true
	if !s.picture.arranged {
		return nil
	}
	return s.arrange(ctx, page, Observation{}, job.LayoutPage)
}
