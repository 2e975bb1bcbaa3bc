package fieldpages

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"standin/internal/job"
)

// tally counts results.
type tally struct {
	meetings, right, falseAdmissions, falseEnds int
	captured                                    int // internal_error with a capture
	uncaptured                                  int // internal_error without a capture
	devicesOn                                   int
	unexplained                                 int // wrong, and no internal_error with a capture
}

func (t *tally) add(r result) {
	count := func(counter *int, condition bool) {
		if condition {
			*counter++
		}
	}
	internal := r.code == job.InternalError
	count(&t.meetings, true)
	count(&t.right, r.right())
	count(&t.falseAdmissions, r.falseAdmission)
	count(&t.falseEnds, r.falseEnd)
	count(&t.captured, internal && r.captured)
	count(&t.uncaptured, internal && !r.captured)
	count(&t.devicesOn, r.devicesOn)
	count(&t.unexplained, !r.right() && (!internal || !r.captured))
}

func (t *tally) cells() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t", t.meetings, t.right, t.meetings-t.right,
		t.falseAdmissions, t.falseEnds, t.captured, t.uncaptured, t.devicesOn)
}

// table returns the results by platform and scenario.
func table(results []result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "platform\tscenario\tmeetings\tright\twrong\tfalse admissions\tfalse ends\tinternal_error with capture\twithout\tdevices on at join\t")
	all := tally{}
	for _, platform := range Platforms() {
		sum := tally{}
		for _, s := range Scenarios() {
			row := tally{}
			for _, r := range results {
				if r.plan.Platform == platform && r.plan.Scenario == s.Name {
					row.add(r)
					sum.add(r)
					all.add(r)
				}
			}
			if row.meetings > 0 {
				fmt.Fprintf(w, "%s\t%s\t%s\n", platform, s.Name, row.cells())
			}
		}
		if sum.meetings > 0 {
			fmt.Fprintf(w, "%s\tall\t%s\n", platform, sum.cells())
		}
	}
	fmt.Fprintf(w, "all\tall\t%s\n", all.cells())
	w.Flush()
	return b.String()
}
