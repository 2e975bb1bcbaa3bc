package bot

import "testing"

func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://zoom.test/wc/123/join?pwd=secret&tk=secret": "https://zoom.test/wc/123/join",
		"https://teams.test/v2/?x=1#/meet/1?p=secret":        "https://teams.test/v2/",
		"https://user:secret@meet.test/abc":                  "https://meet.test/abc",
		"about:blank":                                        "about:blank",
		"%":                                                  "",
	} {
		if got := withoutSecrets(address); got != want {
			t.Errorf("withoutSecrets(%q) = %q, want %q", address, got, want)
		}
	}
}
