package meetinglink_test

import (
	"testing"

	"standin/internal/base/meetinglink"
)

// TestKey checks which links lead to the same meeting.
func TestKey(t *testing.T) {
	t.Parallel()
	keys := make(map[string]string) // and the first link that has them
	for _, same := range [][]string{
		{
			"https://meet.google.com/abc-defg-hij", "https://meet.google.com/abcdefghij", "https://meet.google.com/abc-defg-hij?authuser=1",
			"https://meet.google.com/abc-defg-hij/?pli=1", "HTTPS://MEET.GOOGLE.COM/abc-defg-hij", "http://meet.google.com/ABC-DEFG-HIJ#x",
			"meet.google.com/abc-defg-hij", "https://www.google.com/url?q=https://meet.google.com/abc-defg-hij&sa=D",
			" <https://g.co/meet/abc-defg-hij>. ",
		},
		{"https://meet.google.com/abc-defg-hik"},
		{"https://zoom.us/j/123456789?pwd=x", "https://us02web.zoom.us/j/123456789", "https://acme.zoom.us/wc/join/123 456 789", "https://zoom.us/join?confno=123456789", "https://us02web.zoom.us/wc/123456789/join"},
		{"https://zoomgov.com/j/123456789"},
		{"https://zoom.us/my/ada"},
		{"https://zoom.us/my/bob"},
		{"https://teams.microsoft.com/l/meetup-join/19%3ameeting_X%40thread.v2/0?context=%7b%22Tid%22%3a%221%22%7d", "https://teams.microsoft.com/l/meetup-join/19:meeting_X@thread.v2/0"},
		{"https://teams.microsoft.com/l/meetup-join/19%3ameeting_x%40thread.v2/0"},
		{"https://teams.live.com/meet/9312?p=abc", "https://teams.live.com/meet/9312"},
		{"http://127.0.0.1:8000/abc?b=1&a=2", "http://127.0.0.1:8000/abc/?a=2&b=1"},
		{"http://127.0.0.1:8001/abc?b=1&a=2"},
		{"not a link"},
		{""},
	} {
		for _, link := range same {
			if got, want := meetinglink.Key(link), meetinglink.Key(same[0]); got != want {
				t.Errorf("%s has the key %q, and %s has %q", link, got, same[0], want)
			}
			if seen, found := keys[meetinglink.Key(link)]; found && seen != same[0] {
				t.Errorf("%s and %s have the key %q", link, seen, meetinglink.Key(link))
			}
			keys[meetinglink.Key(link)] = same[0]
		}
	}
}
