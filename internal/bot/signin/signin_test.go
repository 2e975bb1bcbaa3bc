package signin_test

import (
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/bot/signin"
	"standin/internal/job"
)

func TestSignInAdvice(t *testing.T) {
	t.Parallel()
	withCookies := signin.Account{Cookies: []browser.Cookie{{Name: "SID"}}}
	for _, test := range []struct {
		platform job.Platform
		account  signin.Account
		want     string
	}{
		{job.Meet, signin.Account{}, "Google account (STANDIN_SIGN_IN)"},
		{job.Meet, withCookies, "standin doctor"},
		{job.Teams, signin.Account{}, "Microsoft account (STANDIN_SIGN_IN)"},
		{job.Teams, signin.Account{Profile: "/srv/teams.profile"}, "standin doctor"},
		{job.ZoomWeb, withCookies, "zoom-sdk"},
		{job.ZoomSDK, signin.Account{}, ""},
	} {
		got := test.account.Advice(test.platform)
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("advice on %s = %q, want %q in it", test.platform, got, test.want)
		}
	}
}
