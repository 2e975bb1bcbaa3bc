package mailtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"standin/internal/calendar/mail"
)

// monday is the time at which messages arrive.
var monday = time.Date(2026, 10, 19, 8, 0, 0, 0, time.UTC)

// maxFuzzTime is how long one message may be processed: far more than it takes with the
// race detector on a busy machine.
const maxFuzzTime = 20 * time.Second

// FuzzMessage checks that any message is explained or malformed, within time and
// memory bounds.
func FuzzMessage(f *testing.F) {
	samples, err := filepath.Glob("../../calendar/mail/testdata/*.eml")
	if err != nil || len(samples) == 0 {
		f.Fatal("no samples")
	}
	for _, name := range samples {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	policy := mail.Policy{Senders: []mail.Sender{{From: "*"}}, AuthservIDs: []string{"mx.example.test"},
		LookupTXT: func(context.Context, string) ([]string, error) {
			return nil, errors.New("no DNS in tests")
		}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > mail.DefaultMaxMessage {
			return
		}
		checkBounds(t, policy, raw)
	})
}

// checkBounds explains a message and checks the time, the memory and the result.
func checkBounds(t *testing.T, policy mail.Policy, raw []byte) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	e, err := mail.Explain(t.Context(), policy, raw, "", monday)
	runtime.ReadMemStats(&after)
	if took := time.Since(began); took > maxFuzzTime {
		t.Errorf("%d bytes took %s", len(raw), took)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 512<<20+100*uint64(len(raw)) {
		t.Errorf("%d bytes allocated %d MB", len(raw), allocated>>20)
	}
	if err != nil {
		if !errors.Is(err, mail.ErrMalformed) {
			t.Errorf("an error of another type: %v", err)
		}
		return
	}
	if strings.ContainsAny(e.Subject, "\r\n") || len([]rune(e.Subject)) > 300 {
		t.Errorf("the subject is %q", e.Subject)
	}
	if len(e.Meetings) > 4000 {
		t.Errorf("%d meetings", len(e.Meetings))
	}
	for _, m := range e.Meetings {
		for _, o := range m.Occurrences {
			if o.UID == "" || m.Organizer == "" || o.MeetingURL == "" || o.AllDay || o.Cancelled {
				t.Errorf("a meeting without what it needs: %+v", o)
			}
		}
	}
}

// TestHostileMessages checks messages of the maximum size, and of a quarter of it in the short
// run, that are expensive to parse.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	size := mail.DefaultMaxMessage
	if testing.Short() {
		size /= 4
	}
	fill := func(before, repeated, after string) []byte {
		return []byte(before + strings.Repeat(repeated, (size-len(before)-len(after))/len(repeated)) + after)
	}
	series := func(rule string) []byte {
		var b bytes.Buffer
		b.WriteString("From: a@b.test\r\nContent-Type: text/calendar\r\n\r\nBEGIN:VCALENDAR\r\n")
		for i := range 200 {
			b.WriteString("BEGIN:VEVENT\r\nUID:" + string(rune('a'+i%26)) + string(rune('a'+i/26)) +
				"\r\nDTSTART:19700101T000000Z\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\nRRULE:" + rule + "\r\nEND:VEVENT\r\n")
		}
		b.WriteString("END:VCALENDAR\r\n")
		return b.Bytes()
	}
	policy := mail.Policy{Senders: []mail.Sender{{From: "*"}}, Recipients: []string{"@b.test"}}
	for name, raw := range map[string][]byte{
		"headers":    fill("", "X: y\r\n", "\r\n"),
		"one header": fill("From: a@b.test\r\nSubject: ", "=?utf-8?Q?=41?= ", "\r\n\r\n"),
		"parts":      fill("From: a@b.test\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n", "--b\r\n\r\n", "--b--"),
		"nested parts": fill("From: a@b.test\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n",
			"--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n", ""),
		"forwarded":  fill("From: a@b.test\r\n", "Content-Type: message/rfc822\r\n\r\n", ""),
		"links":      fill("From: a@b.test\r\n\r\n", "https://zoom.us/j/1 ", ""),
		"signatures": fill("From: a@b.test\r\n", "DKIM-Signature: v=1; a=rsa-sha256; d=b.test; s=s; h=From; bh=x; b=y\r\n", "\r\n"),
		"base64":     fill("From: a@b.test\r\nContent-Type: text/calendar\r\nContent-Transfer-Encoding: base64\r\n\r\n", "QUFB\r\n", ""),
		"addresses":  fill("From: ", "a@b.test, ", "\r\n\r\n"),
		"references": fill("From: a@b.test\r\nReferences: ", "<a@b> ", "\r\n\r\n"),
		"daily":      series("FREQ=DAILY"),
		"impossible": series("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
		"no sixth":   series("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6"),
		"no day 31":  series("FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=32,31"),
		"many days":  series("FREQ=YEARLY;BYMONTHDAY=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15;BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12;BYSETPOS=1,-1"),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			checkBounds(t, policy, raw)
			t.Logf("%s", time.Since(began))
		})
	}
}
