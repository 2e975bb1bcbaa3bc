package capture

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

// sanitizeScript is a JavaScript function; its comment describes it.
//
//go:embed sanitize.js
var sanitizeScript string

// listenersScript is a JavaScript function; its comment describes it.
//
//go:embed listeners.js
var listenersScript string

// maxTreeNodes and maxTreeDepth limit the accessibility tree.
const maxTreeNodes, maxTreeDepth = 3000, 40

// Visit describes the visit that a capture is made of.
type Visit struct {
	Version     string // version of the program
	Platform    job.Platform
	Profile     *meeting.Profile // nil for a platform without profiles
	DisplayName string           // under which the bot joined
	Log         *Log
}

// document is the result of the script.
type document struct {
	Page      string   `json:"page"`
	Title     string   `json:"title"`
	Address   string   `json:"address"`
	Width     float64  `json:"width"`
	Height    float64  `json:"height"`
	Truncated bool     `json:"truncated"`
	Blank     bool     `json:"blank"`
	Texts     []string `json:"texts"` // texts of the page, without those of participants
	Names     []string `json:"names"` // texts that may be names
	Boxes     [][4]int `json:"boxes"` // x, y, width and height of what the screenshot must not show
}

// New captures a page for a reason. The capture lacks what the page does not answer
// before ctx ends. blank reports that the page responded and shows no text.
func New(ctx context.Context, page *browser.Page, visit Visit, reason string) (_ *Capture, blank bool) {
	snapshots, decisions, names := visit.Log.Content()
	own := []string{visit.DisplayName}
	for _, s := range snapshots {
		own = append(own, s.Known.OwnName) // the page may have cut it
	}
	clean := newSanitizer(visit.Profile)
	clean.setNames(own, names)
	var seen document
	var listeners []int
	_ = page.EvalInConsole(ctx, "("+listenersScript+")()", &listeners) // a page that does not answer has no document either
	replaced := [][2]string{}
	for _, n := range clean.names {
		replaced = append(replaced, [2]string{n.name, n.alias})
	}
	call := fmt.Sprintf("(%s)(%s, %s)", sanitizeScript, encoded(map[string]any{
		"content": clean.content, "ids": clean.ids, "names": replaced,
		"words": slices.Sorted(maps.Keys(clean.words)), "phrases": slices.Sorted(maps.Keys(clean.phrases)),
	}), encoded(listeners))
	failed := page.Eval(ctx, call, &seen)
	clean.setNames(own, slices.Concat(names, seen.Names))
	c := &Capture{Info: Info{
		Schema: Schema, Version: visit.Version, TakenAt: time.Now().UTC(), Reason: clean.text(reason), Platform: visit.Platform,
		Snapshots: clean.snapshots(snapshots), Decisions: clean.decisions(decisions),
	}}
	if visit.Profile != nil {
		c.Profile = visit.Profile.Text()
	}
	if failed != nil {
		c.Problem = clean.text(failed.Error())
		return c, false
	}
	c.Page, c.Title, c.Address = []byte(seen.Page), seen.Title, seen.Address
	c.Width, c.Height, c.Truncated = seen.Width, seen.Height, seen.Truncated
	if nodes, err := page.AccessibilityTree(ctx); err == nil {
		// Only names among the texts that no participant wrote are kept.
		known := make(map[string]bool, len(seen.Texts))
		for _, text := range seen.Texts {
			known[text] = true
		}
		var b bytes.Buffer
		for i, node := range nodes {
			if i == maxTreeNodes {
				b.WriteString("…\n")
				break
			}
			fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", min(node.Depth, maxTreeDepth)), node.Role)
			if name := strings.Join(strings.Fields(clean.text(node.Name)), " "); name != "" {
				if !known[name] {
					name = clean.withoutOthers(name)
				}
				fmt.Fprintf(&b, " %q", name)
			}
			for _, state := range node.States {
				b.WriteString(" " + state)
			}
			b.WriteByte('\n')
		}
		c.Accessibility = b.Bytes()
	}
	// Because the page may move while the picture is taken, what must not be seen is painted over where it
	// was before and where it is afterwards.
	picture, err := page.Screenshot(ctx)
	var after document
	if err == nil && page.Eval(ctx, call, &after) == nil && after.Width == seen.Width {
		c.Screenshot = paintOver(picture, int(seen.Width), slices.Concat(seen.Boxes, after.Boxes))
	}
	return c, seen.Blank
}

// encoded returns a value as an argument of a script.
func encoded(value any) string {
	text, _ := json.Marshal(value) // strings and lists always encode
	return string(text)
}
