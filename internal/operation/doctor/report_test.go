package doctor

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReportForPeople(t *testing.T) {
	t.Parallel()
	report := Report{Checks: []Check{
		{Name: "browser", State: OK, Found: "Chromium 1"},
		{Name: "data folder", State: Warn, Found: "open to others", Fix: "chmod 700 data"},
		{Name: "database", State: Fail, Found: "line\none\x1b[2J", Fix: "start it"},
	}}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const want = "ok    browser          Chromium 1\n" +
		"warn  data folder      open to others\n" +
		"                       fix: chmod 700 data\n" +
		"fail  database         line one[2J\n" +
		"                       fix: start it\n"
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	if !report.Failed() || (Report{Checks: report.Checks[:2]}).Failed() {
		t.Error("a warning counts as failure, or a failure does not")
	}
}

func TestReportForPrograms(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	report := Report{Checks: []Check{{Name: "clock", State: Fail, Found: "wrong", Fix: "set it"}}}
	if err := report.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var read struct {
		OK     *bool
		Checks []map[string]string
	}
	if err := json.Unmarshal([]byte(text.String()), &read); err != nil {
		t.Fatal(err)
	}
	if read.OK == nil || *read.OK || len(read.Checks) != 1 || read.Checks[0]["state"] != "fail" || read.Checks[0]["fix"] != "set it" {
		t.Errorf("read %+v of\n%s", read, text.String())
	}
}
