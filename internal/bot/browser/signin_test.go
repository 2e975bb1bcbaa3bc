package browser_test

import (
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

func TestSignInAdvice(t *testing.T) {
	t.Parallel()
	withCookies := browser.Account{Cookies: []browser.Cookie{{Name: "SID"}}}
	for _, test := range []struct {
		platform job.Platform
		account  browser.Account
		want     string
	}{
		{job.Meet, browser.Account{}, "Google account (STANDIN_SIGN_IN)"},
		{job.Meet, withCookies, "standin doctor"},
		{job.Teams, browser.Account{}, "Microsoft account (STANDIN_SIGN_IN)"},
		{job.Teams, browser.Account{Profile: "/srv/teams.profile"}, "standin doctor"},
		{job.ZoomWeb, withCookies, "zoom-sdk"},
		{job.ZoomSDK, browser.Account{}, ""},
	} {
		got := test.account.Advice(test.platform)
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("advice on %s = %q, want %q in it", test.platform, got, test.want)
		}
	}
}
