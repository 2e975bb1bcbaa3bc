package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/base/text"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

func TestPlanPieces(t *testing.T) {
	t.Parallel()
	s := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	span := func(start, end float64) build.Span { return build.Span{Start: s(start), End: s(end)} }
	tests := map[string]struct {
		length   float64
		silences []build.Span
		want     []build.Span
	}{
		"no silence":              {30, nil, []build.Span{span(0, 30)}},
		"silence only":            {30, []build.Span{span(0, 30)}, nil},
		"a short silence is kept": {30, []build.Span{span(10, 12)}, []build.Span{span(0, 30)}},
		"a long silence divides":  {60, []build.Span{span(10, 40)}, []build.Span{span(0, 10.3), span(39.7, 60)}},
		"nothing but the start":   {30, []build.Span{span(0.08, 30)}, nil},
		"two clicks":              {30, []build.Span{span(0, 10), span(10.1, 20), span(20.1, 30)}, nil},
		"a click, then speech":    {30, []build.Span{span(0.08, 20)}, []build.Span{span(19.7, 30)}},
		"a short word":            {30, []build.Span{span(0, 10), span(10.2, 30)}, []build.Span{span(9.7, 10.5)}},
		"speech, then a click":    {30, []build.Span{span(10, 12), span(12.1, 30)}, []build.Span{span(0, 12.4)}},
		"divided at silences":     {100, []build.Span{span(50, 52)}, []build.Span{span(0, 50.3), span(51.7, 100)}},
		"divided at a pause":      {100, nil, []build.Span{span(0, 55), span(55, 100)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := planPieces(s(test.length), test.silences, time.Minute, func(in build.Span) (time.Duration, error) {
				return in.End - s(5), nil
			})
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v (%v), want %v", got, err, test.want)
			}
		})
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	d := Document{Segments: []Segment{
		{StartMs: 3_661_001, EndMs: 3_662_000, Speaker: "Eve <script>\n", Text: "a --> b\n\nNOTE <b>bold</b> & \u2028more"},
		{StartMs: 3_663_000, EndMs: 3_663_000, Text: "hm"},
		{StartMs: 3_664_000, EndMs: 3_665_000, Text: "Thank you.", Unconfirmed: true},
		{StartMs: 3_666_000, EndMs: 3_667_000, Speaker: "Ada", Text: "Bye.", Unconfirmed: true},
		{StartMs: 3_668_000, EndMs: 3_669_000, Speaker: "Bob --", Text: "Bye."},
	}}
	const vtt = "WEBVTT\n\n01:01:01.001 --> 01:01:02.000\n<v Eve &lt;script&gt;>a --&gt; b NOTE &lt;b&gt;bold&lt;/b&gt; &amp; more\n" +
		"\n01:01:03.000 --> 01:01:03.500\nhm\n" +
		"\n01:01:04.000 --> 01:01:05.000\n<v Unconfirmed>Thank you.\n" +
		"\n01:01:06.000 --> 01:01:07.000\n<v Ada (unconfirmed)>Bye.\n" +
		"\n01:01:08.000 --> 01:01:09.000\n<v Bob -- >Bye.\n"
	if got := string(d.VTT(nil)); got != vtt {
		t.Errorf("WebVTT:\n%s\nwant:\n%s", got, vtt)
	}
	if got := string(d.VTT([]recording.Gap{{StartMs: 0, EndMs: 3_600_000}})); !strings.HasPrefix(got,
		"WEBVTT\n\n00:01:01.001 --> 00:01:02.000\n") {
		t.Errorf("WebVTT after a gap of an hour:\n%s", got)
	}
	const text = "[01:01:01] Eve <script>: a --> b NOTE <b>bold</b> & more\n[01:01:03] Unknown speaker: hm\n" +
		"[01:01:04] Unconfirmed: Thank you.\n[01:01:06] Ada (unconfirmed): Bye.\n[01:01:08] Bob --: Bye.\n"
	if got := string(d.Text()); got != text {
		t.Errorf("text:\n%s\nwant:\n%s", got, text)
	}
}

func FuzzParseResponse(f *testing.F) {
	f.Add([]byte(goodResponse))
	f.Add([]byte(`{"text": "a b", "words": [{"word": "a", "start": 1e300, "end": -1}, {"word": " b "}]}`))
	f.Add([]byte(`{"segments": [{"text": "x", "words": [{"word": "x", "probability": 7}]}]}`))
	f.Add([]byte(`{"text": "a", "words": [{"word": " "}]}`))
	f.Add([]byte(`{"text": "a\u0000\ud800b\u202e", "language": "en\u0000"}`))
	f.Add([]byte(`{"segments": [{"text": "\u0000\u0085", "words": [{"word": "x\n\u0007y"}]}]}`))
	m := recording.Manifest{
		Participants: []recording.Participant{{ID: "p", Name: "P"}}, Speech: []recording.Speech{{ParticipantID: "p", StartMs: 0, EndMs: 500}},
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		recognized, err := parseResponse(body, time.Second)
		if err != nil {
			return
		}
		p := piece{track{file: recording.Media{}}, build.Span{End: time.Second}}
		d := Document{Segments: p.segments(recognized, newSpeakers(m))}
		for _, s := range d.Segments {
			for _, word := range append(s.Words, Word{Text: s.Text}) {
				if err := text.CheckLine(word.Text, maxSegmentText); err != nil {
					t.Errorf("text %q: %v", word.Text, err)
				}
			}
			if s.StartMs < 0 || s.EndMs < s.StartMs && len(s.Words) == 0 || s.EndMs > 1000 || strings.TrimSpace(s.Text) == "" {
				t.Errorf("segment %+v", s)
			}
		}
		if _, err := json.Marshal(d); err != nil {
			t.Error(err)
		}
		if cues := bytes.Count(d.VTT(nil), []byte(" --> ")); cues != len(d.Segments) {
			t.Errorf("%d cues of %d segments", cues, len(d.Segments))
		}
	})
}
