package meeting

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// probeScript is a JavaScript function; its comment describes it.
//
//go:embed probe.js
var probeScript string

// mediaScript is a JavaScript function; its comment describes it.
//
//go:embed media.js
var mediaScript string

// probe takes snapshots of a page with one profile.
type probe struct {
	call     string // the script and its first argument, without the closing parenthesis
	function string // the expression that yields the function in the document
	install  string // the expression that also leaves it there
}

// probeCondition is a TextCondition as the script takes it.
type probeCondition struct {
	Key   string    `json:"key"`
	In    []string  `json:"in"`
	Match TextMatch `json:"match"`
}

// newProbe encodes the profile as an argument of the script. The first snapshot leaves
// both in the document, as a function that the following snapshots call: to send and
// compile them takes more time than to run them.
func newProbe(profile *Profile) (probe, error) {
	var conditions []probeCondition
	for _, condition := range profile.textConditions() {
		conditions = append(conditions, probeCondition{Key: condition.key, In: condition.In, Match: condition.TextMatch})
	}
	slices.SortFunc(conditions, func(a, b probeCondition) int { return cmp.Compare(a.Key, b.Key) })
	argument, err := json.Marshal(map[string]any{ // with [] for nil
		"participantContent": profile.ParticipantContent,
		"regions":            profile.Regions,
		"elements":           profile.Elements,
		"conditions":         conditions,
		"lobbyTexts":         profile.Admission.LobbyTexts,
		"hostTexts":          profile.Admission.HostTexts,
		"roster":             profile.Roster,
		"chat":               profile.Chat,
		"captions":           profile.Captions,
		"badges":             knownWords().Badges,
	}, json.Deterministic(true))
	if err != nil {
		return probe{}, fmt.Errorf("encode profile %s: %w", profile.source, err)
	}
	call := "(" + probeScript + ")(" + string(argument)
	function := fmt.Sprintf("window[Symbol.for(\"standin.probe.%x\")]", sha256.Sum256([]byte(call)))
	return probe{
		call:     call,
		function: function,
		install: "(" + function + " ??= ((probe, profile) => (...rest) => probe(profile, ...rest))(" +
			probeScript + ", " + string(argument) + "))",
	}, nil
}

// ElementExpression returns the JavaScript expression that yields an element of the
// profile, or null.
func (p *Profile) ElementExpression(name string) (string, error) {
	probe, err := newProbe(p)
	return probe.find(name), err
}

// Snapshot reads a page.
func (p *Profile) Snapshot(ctx context.Context, page Page) (Snapshot, error) {
	probe, err := newProbe(p)
	if err != nil {
		return Snapshot{}, err
	}
	return probe.snapshot(ctx, page)
}

// snapshot returns what the page shows.
func (p probe) snapshot(ctx context.Context, page Page) (Snapshot, error) {
	return p.eval(ctx, page, "()", false)
}

// snapshotInMeeting is snapshot without the texts of the whole page, and with the
// levels of the audio that arrives.
func (p probe) snapshotInMeeting(ctx context.Context, page Page) (Snapshot, error) {
	return p.eval(ctx, page, "(undefined, true)", true)
}

// eval calls the function in the document, and leaves it there if it is not. Then it
// adds the media that the page receives.
func (p probe) eval(ctx context.Context, page Page, arguments string, inMeeting bool) (Snapshot, error) {
	var snapshot *Snapshot
	err := page.Eval(ctx, p.function+"?."+arguments, &snapshot)
	if err == nil && snapshot == nil {
		snapshot = new(Snapshot)
		err = page.Eval(ctx, p.install+arguments, snapshot)
	}
	if err == nil {
		err = page.EvalInPage(ctx, fmt.Sprintf("(%s)(%t)", mediaScript, inMeeting), snapshot)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("read the page: %w", err)
	}
	return *snapshot, nil
}

// find returns the expression that yields what wanted describes to the script.
func (p probe) find(wanted any) string {
	encoded, _ := json.Marshal(wanted, jsontext.AllowInvalidUTF8(true)) // strings always encode
	return p.call + "," + string(encoded) + ")"
}
