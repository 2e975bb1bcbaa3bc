package replica

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
)

// Platform is whose page shows a meeting.
type Platform string

// The platforms that have a page here.
const (
	Meet  Platform = "meet"
	Teams Platform = "teams"
	Zoom  Platform = "zoom"
)

// traits are what the neutral half must know of a platform.
type traits struct {
	codeForm    *regexp.Regexp
	codeExample string
	randomCode  func() string
	// path is where a guest is sent, with the passcode when there is one.
	path func(code, passcode string) string
	// passcodes, launcher, frame and permission tell what the platform knows at
	// all; launcher is a page that comes before the meeting's own.
	passcodes, launcher, frame, permission bool
	// lateDevices: the question about devices may come after the join button.
	lateDevices bool
	// browsersLanguage: the page speaks what the browser asks for. Meet's asks the
	// address (platforms, Meet: hl=en).
	browsersLanguage bool
	// longestName is published (platforms: name limits). Of the longest messages
	// only Meet's is; the others are bounds wide enough for what a bot writes.
	longestName, longestMessage int
	notices                     []Notice
}

var (
	meetCode  = regexp.MustCompile(`^[a-z]{3}-[a-z]{4}-[a-z]{3}$`)
	teamsCode = regexp.MustCompile(`^[1-9][0-9]{11,14}$`)
	zoomCode  = regexp.MustCompile(`^[1-9][0-9]{8,10}$`)
)

func (p Platform) traits() (traits, error) {
	switch p {
	case Meet:
		return traits{
			codeForm: meetCode, codeExample: "abc-defg-hij", randomCode: randomLetters,
			path:        func(code, _ string) string { return "/" + code },
			longestName: 60, longestMessage: 500,
			notices: []Notice{NoticeRecorded, NoticeTranscribed, NoticeGemini},
		}, nil
	case Teams:
		return traits{
			codeForm: teamsCode, codeExample: "234567890123", randomCode: func() string { return randomDigits(13) },
			path:      func(code, passcode string) string { return "/meet/" + code + query("p", passcode) },
			passcodes: true, launcher: true, lateDevices: true, browsersLanguage: true,
			longestName: 50, longestMessage: 4000,
			notices: []Notice{NoticeRecorded, NoticeTranscribed},
		}, nil
	case Zoom:
		return traits{
			codeForm: zoomCode, codeExample: "9876543210", randomCode: func() string { return randomDigits(10) },
			path:      func(code, passcode string) string { return "/j/" + code + query("pwd", passcode) },
			passcodes: true, launcher: true, frame: true, permission: true, browsersLanguage: true,
			longestName: 64, longestMessage: 1024,
			notices: []Notice{NoticeRecorded, NoticeTranscribed},
		}, nil
	default:
		return traits{}, fmt.Errorf("unknown platform %q", p)
	}
}

func query(name, value string) string {
	if value == "" {
		return ""
	}
	return "?" + url.Values{name: {value}}.Encode()
}

func randomLetters() string {
	code := []byte("aaa-aaaa-aaa")
	for i := range code {
		if code[i] != '-' {
			code[i] = byte('a' + rand.IntN(26))
		}
	}
	return string(code)
}

func randomDigits(length int) string {
	code := make([]byte, length)
	for i := range code {
		code[i] = byte('0' + rand.IntN(10))
	}
	code[0] = byte('1' + rand.IntN(9))
	return string(code)
}
