package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"standin/internal/bot/meeting"
)

// WriteJSON writes the report as JSON.
func (r Report) WriteJSON(w io.Writer) error {
	return writeJSON(w, struct {
		OK bool `json:"ok"`
		Report
	}{!r.Failed(), r})
}

// WriteJSON writes the page as JSON; ok says that a screen was recognized.
func (p Page) WriteJSON(w io.Writer) error {
	return writeJSON(w, struct {
		OK   bool `json:"ok"`
		Page Page `json:"page"`
	}{p.Recognized(), p})
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// Recognized reports whether the page shows a screen of the profile.
func (p Page) Recognized() bool { return p.Screen != meeting.Unknown }

// WriteText writes the report for people: a line per check, and below it how to
// fix a problem.
func (r Report) WriteText(w io.Writer) error {
	const nameWidth = 12
	format := stateFormat(w)
	for _, check := range r.Checks {
		if _, err := fmt.Fprintf(w, "%s  %-*s %s\n", format(check.State), nameWidth, check.Name, oneLine(check.Found)); err != nil {
			return err
		}
		if check.Fix == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "      %-*s fix: %s\n", nameWidth, "", oneLine(check.Fix)); err != nil {
			return err
		}
	}
	return nil
}

// stateFormat returns how states are written: in color on a terminal, unless
// NO_COLOR is set (https://no-color.org).
func stateFormat(w io.Writer) func(State) string {
	plain := func(state State) string { return fmt.Sprintf("%-4s", state) }
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return plain
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return plain
	}
	return func(state State) string {
		const green, yellow, red = 32, 33, 31
		color := map[State]int{OK: green, Warn: yellow, Fail: red}[state]
		return fmt.Sprintf("\x1b[%dm%-4s\x1b[0m", color, state)
	}
}

// WriteText writes the page for people.
func (p Page) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "profile\t%s version %d of %s (%s)\n", p.Platform, p.Version, p.Date, p.Profile)
	fmt.Fprintf(table, "page\t%s, %s\n", quoted(p.Title), oneLine(p.Address))
	screen := "not recognized: it shows none of the profile's screens"
	if p.Recognized() {
		screen = fmt.Sprintf("%s, by %s", p.Screen, oneLine(p.Evidence))
	}
	fmt.Fprintf(table, "screen\t%s\n", screen)
	fmt.Fprintf(table, "people\t%s\n", p.people())
	for _, text := range p.Texts {
		fmt.Fprintf(table, "text\t%s: %s\n", text.Path, quoted(text.Found))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeElements(w, p.Elements)
}

// writeElements writes the results for the elements of a profile.
func writeElements(w io.Writer, elements []Element) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, element := range elements {
		fmt.Fprintf(table, "%s\t%s\t%s\n", element.State, element.Name, element.details())
	}
	return table.Flush()
}

// people returns the number and names of the participants.
func (p Page) people() string {
	if p.Others < 0 {
		return "the page does not show it"
	}
	names := make([]string, 0, len(p.People))
	for _, name := range p.People {
		names = append(names, quoted(cmp.Or(name, "?")))
	}
	return strings.TrimSuffix(fmt.Sprintf("%d beside the bot: %s", p.Others, strings.Join(names, ", ")), ": ")
}

// details returns how an element was found, and its text.
func (e Element) details() string {
	if e.State == meeting.ElementMissing {
		return "-"
	}
	details := fmt.Sprintf("candidate %d, %s", e.Candidate, oneLine(e.Selector))
	if e.Text != "" {
		details += ": " + quoted(e.Text)
	}
	if e.Disabled {
		details += ", disabled"
	}
	if e.Covered {
		details += ", something lies over it"
	}
	return details
}

// quoted quotes a text of the page, so that a terminal does not interpret it.
func quoted(text string) string { return strconv.Quote(text) }

// oneLine returns a text on one line, without control characters and bidirectional
// controls.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}
