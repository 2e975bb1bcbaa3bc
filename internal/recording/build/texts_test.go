package build

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// meetingText returns a text that began some seconds after recordingStart and
// lasted two seconds.
func meetingText(kind job.TextKind, id, author, text string, seconds float64) job.MeetingText {
	return job.MeetingText{
		Kind: kind, ID: id, ParticipantID: "p1", Author: author, Text: text, StartedAt: at(seconds), EndedAt: at(seconds + 2),
	}
}

// TestTextFiles checks the files with a meeting's texts: their order, offsets and
// participants, and that hostile texts remain text.
func TestTextFiles(t *testing.T) {
	t.Parallel()
	input := testInput()
	hostile := "\x00<script>alert(1)</script> --> &\r\n\r\n00:00.000 --> 00:09.000\u2028\u202e\u200f ok"
	input.Texts = []job.MeetingText{
		meetingText(job.CaptionText, "2", "<v Eve>", hostile, 12),
		meetingText(job.CaptionText, "1", "Ada", "Good morning.", 1),
		meetingText(job.CaptionText, "3", "Ada", "", 2),
		meetingText(job.ChatText, "1", "Eve", "early", -5),
	}
	input.Texts[1].Language = "en-US"
	report := ingest.Report{People: []ingest.Person{{ID: "p1", Name: "Ada", JoinedAt: at(0)}}}
	packed := Packed{Files: []recording.File{testFile()}, Parts: []PackedPart{packedPart(0, 0, 0, 5), packedPart(0, 1, 10, 5)}}
	b := newBuilder(input, []ingest.Report{report}, packed)
	files, err := b.textFiles(b.gaps())
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, file := range files {
		contents[file.Name] = string(file.Content)
	}
	const vtt = "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\n<v Ada>Good morning.\n\n" +
		"00:00:12.000 --> 00:00:14.000\n<v &lt;v Eve&gt;>&lt;script&gt;alert(1)&lt;/script&gt; --&gt; &amp; 00:00.000 --&gt; 00:09.000 \u202e\u200f ok\n"
	if contents["captions.vtt"] != vtt {
		t.Errorf("captions.vtt:\n%s\nwant\n%s", contents["captions.vtt"], vtt)
	}
	for name, want := range map[string]string{
		"captions.json": `{"participantId":"p1","author":"Ada","text":"Good morning.","language":"en-US","startMs":1000,"endMs":3000,"startedAt":"2026-11-20T09:00:01.000Z"}`,
		"chat.json":     `"text":"early","language":null,"startMs":0,"endMs":0,"startedAt":"2026-11-20T08:59:55.000Z"`,
	} {
		if !strings.Contains(contents[name], want) {
			t.Errorf("%s: %s\nwant %s", name, contents[name], want)
		}
		if err := validate(publishedSchema(t, "texts"), contents[name]); err != nil {
			t.Errorf("%s does not match its schema: %v", name, err)
		}
	}
	if strings.Contains(contents["captions.json"], "<script>") {
		t.Errorf("markup in captions.json: %s", contents["captions.json"])
	}
}

// FuzzWebVTT checks that a caption's text adds no line, tag or cue.
func FuzzWebVTT(f *testing.F) {
	f.Add("Ada", "Good morning.", int64(1000), int64(2000))
	f.Add("<v x>", "a\n\n00:00.000 --> 00:01.000\n<script>", int64(-1), int64(1<<40))
	f.Add("\u2028\u0085", "\x00&lt;\r", int64(5), int64(4))
	f.Add("Ada --", "--", int64(1000), int64(2000))
	f.Fuzz(func(t *testing.T, author, text string, from, to int64) {
		limit := (1000 * time.Hour).Milliseconds()
		from, to = min(max(from, 0), limit), min(max(to, 0), limit)
		vtt := webVTT([]recording.Text{{Author: &author, Text: text, StartMs: from, EndMs: to}}, []recording.Gap{{StartMs: 10, EndMs: 20}})
		if lines := bytes.Count(vtt, []byte("\n")); lines != 4 || bytes.Contains(vtt, []byte("\r")) {
			t.Errorf("%d lines in %q", lines, vtt)
		}
		if arrows := bytes.Count(vtt, []byte("-->")); arrows != 1 {
			t.Errorf("%d arrows in %q", arrows, vtt)
		}
		if tags := bytes.Count(vtt, []byte("<")); tags > 1 {
			t.Errorf("%d tags in %q", tags, vtt)
		}
	})
}
