package replica

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
)

// Platform is a meeting platform.
type Platform string

// The supported platforms.
const (
	Meet  Platform = "meet"
	Teams Platform = "teams"
	Zoom  Platform = "zoom"
)

// traits describes the differences between platforms.
type traits struct {
	codeForm    *regexp.Regexp
	codeExample string
	randomCode  func() string
	// path returns the path and query of the meeting URL.
	path func(code, passcode string) string
	// passcodes, launcher, frame and permission are the features of the platform.
	// launcher is a page before the meeting's own.
	passcodes, launcher, frame, permission bool
	// lateDevices means that the device dialog may open after joining.
	lateDevices bool
	// browserLanguage means that the page uses the language of the browser. Meet uses
	// the query parameter hl instead.
	browserLanguage bool
	// maxNameLen is documented by the platforms. For maxMessageLen, only Meet's value
	// is known.
	maxNameLen, maxMessageLen int
	notices                   []Notice
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
			path:       func(code, _ string) string { return "/" + code },
			maxNameLen: 60, maxMessageLen: 500,
			notices: []Notice{NoticeRecorded, NoticeTranscribed, NoticeGemini, NoticeShared},
		}, nil
	case Teams:
		return traits{
			codeForm: teamsCode, codeExample: "234567890123", randomCode: func() string { return randomDigits(13) },
			path:      func(code, passcode string) string { return "/meet/" + code + query("p", passcode) },
			passcodes: true, launcher: true, lateDevices: true, browserLanguage: true,
			maxNameLen: 50, maxMessageLen: 4000,
			notices: []Notice{NoticeRecorded, NoticeTranscribed},
		}, nil
	case Zoom:
		return traits{
			codeForm: zoomCode, codeExample: "9876543210", randomCode: func() string { return randomDigits(10) },
			path:      func(code, passcode string) string { return "/j/" + code + query("pwd", passcode) },
			passcodes: true, launcher: true, frame: true, permission: true, browserLanguage: true,
			maxNameLen: 64, maxMessageLen: 1024,
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
