package meeting

import (
	"errors"
	"strings"
	"testing"

	"standin/internal/job"
)

func TestMeetAddress(t *testing.T) {
	t.Parallel()
	const plain = "https://meet.google.com/abc-defg-hij?hl=en"
	for name, c := range map[string]struct{ given, want string }{
		"plain":                  {"https://meet.google.com/abc-defg-hij", plain},
		"white space around":     {" \n https://meet.google.com/abc-defg-hij\t", plain},
		"trailing bracket":       {"https://meet.google.com/abc-defg-hij>", plain},
		"both brackets":          {"<https://meet.google.com/abc-defg-hij>", plain},
		"http":                   {"http://meet.google.com/abc-defg-hij", plain},
		"capitals":               {"HTTPS://Meet.Google.COM/ABC-DEFG-HIJ", plain},
		"another language":       {"https://meet.google.com/abc-defg-hij?hl=de", plain},
		"other parameters":       {"https://meet.google.com/abc-defg-hij?authuser=1&hl=de", "https://meet.google.com/abc-defg-hij?authuser=1&hl=en"},
		"user in front":          {"https://who:secret@meet.google.com/abc-defg-hij", plain},
		"lookup":                 {"https://meet.google.com/lookup/weekly", "https://meet.google.com/lookup/weekly?hl=en"},
		"redirector":             {"https://www.google.com/url?q=https://meet.google.com/abc-defg-hij&sa=D", plain},
		"redirector, encoded":    {"https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij&usg=x", plain},
		"redirector, thrice":     {"https://google.com/url?q=https%25253A%25252F%25252Fmeet.google.com%25252Fabc-defg-hij", plain},
		"redirector in another":  {"https://google.com/url?q=https%3A%2F%2Fwww.google.com%2Furl%3Fq%3Dhttps%253A%252F%252Fmeet.google.com%252Fabc-defg-hij", plain},
		"redirector, other name": {"https://www.google.com/url?sa=j&url=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij", plain},
		"encoded once":           {"https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij", plain},
		"encoded three times":    {"https%25253A%25252F%25252Fmeet.google.com%25252Fabc-defg-hij", plain},
		"another host":           {"http://127.0.0.1:9000/Room?x=1", "http://127.0.0.1:9000/Room?hl=en&x=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := siteOf(t, job.Meet).Address(c.given)
			if err != nil || got.URL != c.want {
				t.Errorf("Address(%q) = %q, %v; want %q", c.given, got, err, c.want)
			}
		})
	}
}

func TestMeetAddressRefused(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]string{
		"empty":                    "",
		"words":                    "see you at ten",
		"two, apart":               "https://meet.google.com/abc-defg-hij https://zoom.us/j/1",
		"two, on two lines":        "https://meet.google.com/abc-defg-hij\nhttps://meet.google.com/xyz-defg-hij",
		"two, glued":               "https://meet.google.com/abc-defg-hijhttps://meet.google.com/xyz-defg-hij",
		"two, glued and encoded":   "https://meet.google.com/abc-defg-hijhttps%3A%2F%2Fzoom.us%2Fj%2F1",
		"words before":             "Join: https://meet.google.com/abc-defg-hij",
		"no code":                  "https://meet.google.com/",
		"no host":                  "https:///abc-defg-hij",
		"no web address":           "ftp://meet.google.com/abc-defg-hij",
		"a script":                 "javascript:alert(1)",
		"redirector without aim":   "https://www.google.com/url?sa=D",
		"redirector to a script":   "https://www.google.com/url?q=javascript:alert(1)",
		"encoded four times":       "https%2525253A%2525252F%2525252Fmeet.google.com%2525252Fabc-defg-hij",
		"too long":                 "https://meet.google.com/" + strings.Repeat("a", maxAddressLength),
		"redirectors without end":  strings.Repeat("https://google.com/url?q=", 9) + "https://meet.google.com/abc-defg-hij",
		"unreadable":               "https://meet.google.com/%zz",
		"control character inside": "https://meet.google.com/abc\x00defg",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := siteOf(t, job.Meet).Address(given)
			var refused *AddressError
			if !errors.As(err, &refused) {
				t.Fatalf("Address(%q) = %q, %v; want an AddressError", given, got, err)
			}
			if strings.Contains(err.Error(), "defg") {
				t.Errorf("the error repeats the address: %v", err)
			}
		})
	}
}
