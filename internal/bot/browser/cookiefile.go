package browser

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxCookieFileBytes = 4 << 20
	maxCookies         = 5000

	// maxCookieBytes is the limit of browsers for name and value together.
	maxCookieBytes = 4096
)

// checkPrivate returns an error if other users of the machine can read a file or directory with a
// user's credentials. It includes the command that fixes that.
func checkPrivate(path string, info os.FileInfo) error {
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	private := "600"
	if info.IsDir() {
		private = "700"
	}
	return fmt.Errorf("other users of this machine can read %s (mode %04o), which contains sign-in credentials: run `chmod %s %s`",
		path, info.Mode().Perm(), private, path)
}

// LoadCookies reads the cookies of a signed-in user from a file, which other users must not be able
// to read. See ParseCookies.
func LoadCookies(path string) ([]Cookie, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read cookies from %s: it is not a regular file", path)
	}
	if err := checkPrivate(path, info); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxCookieFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxCookieFileBytes {
		return nil, fmt.Errorf("read cookies from %s: it is larger than %d bytes", path, maxCookieFileBytes)
	}
	cookies, err := ParseCookies(content)
	if err != nil {
		return nil, fmt.Errorf("read cookies from %s: %w", path, err)
	}
	return cookies, nil
}

// ParseCookies parses the cookies of a signed-in user: the JSON that browser extensions and automation
// tools export, or a Netscape cookies.txt. Expired cookies are skipped. Errors contain no cookie value.
func ParseCookies(content []byte) ([]Cookie, error) {
	parse := parseNetscapeCookies
	if start := bytes.TrimSpace(content); len(start) > 0 && (start[0] == '[' || start[0] == '{') {
		parse = parseJSONCookies
	}
	cookies, err := parse(content)
	if err != nil {
		return nil, err
	}
	if len(cookies) > maxCookies {
		return nil, fmt.Errorf("it contains more than %d cookies", maxCookies)
	}
	now := time.Now()
	fresh := slices.DeleteFunc(cookies, func(c Cookie) bool { return !c.Expires.IsZero() && !c.Expires.After(now) })
	if len(fresh) == 0 {
		return nil, errors.New("it contains no cookie that has not expired")
	}
	return fresh, nil
}

// exportedCookie is a cookie as browser extensions ("expirationDate",
// "hostOnly") and automation tools ("expires") export it.
type exportedCookie struct {
	Name, Value, Domain, Path string
	HostOnly                  *bool
	ExpirationDate, Expires   *float64
	Secure, HTTPOnly          bool
	SameSite                  *string
}

// parseJSONCookies parses an array of cookies, or an object with the array in the
// field "cookies".
func parseJSONCookies(content []byte) ([]Cookie, error) {
	var exported []exportedCookie
	var wrapped struct{ Cookies []exportedCookie }
	err := json.Unmarshal(content, &exported)
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		err = json.Unmarshal(content, &wrapped)
		exported = wrapped.Cookies
	}
	if err != nil {
		// The decoder's error may quote a cookie.
		return nil, errors.New("it is not an array of objects with name, value, domain and path")
	}
	cookies := make([]Cookie, 0, min(len(exported), maxCookies))
	for number, entry := range exported {
		cookie, err := entry.cookie()
		if err != nil {
			return nil, fmt.Errorf("cookie %d: %w", number+1, err)
		}
		cookies = append(cookies, cookie)
	}
	return cookies, nil
}

// cookie converts the exported form.
func (e exportedCookie) cookie() (Cookie, error) {
	cookie := Cookie{
		Name: e.Name, value: e.Value, Domain: e.Domain, HostOnly: !strings.HasPrefix(e.Domain, "."),
		Path: e.Path, Secure: e.Secure, HTTPOnly: e.HTTPOnly,
	}
	if e.HostOnly != nil {
		cookie.HostOnly = *e.HostOnly
	}
	for _, seconds := range []*float64{e.ExpirationDate, e.Expires} {
		if seconds != nil && *seconds > 0 && *seconds < math.MaxInt32*100 { // -1 means a session cookie
			cookie.Expires = time.UnixMilli(int64(*seconds * 1000))
		}
	}
	if e.SameSite != nil {
		cookie.SameSite = map[string]string{
			"strict": "Strict", "lax": "Lax", "none": "None", "no_restriction": "None",
		}[strings.ToLower(*e.SameSite)]
	}
	return cookie.validate()
}

// validate returns the normalized cookie, or an error if it is invalid.
func (c Cookie) validate() (Cookie, error) {
	c.Domain = strings.ToLower(strings.TrimPrefix(c.Domain, "."))
	c.Path = cmp.Or(c.Path, "/")
	switch {
	case c.Domain == "" || strings.ContainsAny(c.Domain, "/:@ \t"):
		return Cookie{}, errors.New("its domain is not a host")
	case c.Path[0] != '/':
		return Cookie{}, errors.New("its path does not begin with /")
	case c.Name == "" && c.value == "":
		return Cookie{}, errors.New("it is empty")
	case len(c.Name)+len(c.value) > maxCookieBytes:
		return Cookie{}, fmt.Errorf("it is longer than %d bytes", maxCookieBytes)
	case strings.ContainsFunc(c.Name+c.value+c.Path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Cookie{}, errors.New("it contains control characters")
	}
	return c, nil
}

// httpOnlyPrefix starts the lines of HttpOnly cookies in cookies.txt.
const httpOnlyPrefix = "#HttpOnly_"

// parseNetscapeCookies parses cookies.txt: lines of seven tab-separated fields.
func parseNetscapeCookies(content []byte) ([]Cookie, error) {
	var cookies []Cookie
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, maxCookieFileBytes)
	for number := 1; lines.Scan(); number++ {
		text, httpOnly := strings.CutPrefix(strings.TrimSuffix(lines.Text(), "\r"), httpOnlyPrefix)
		if strings.TrimSpace(text) == "" || text[0] == '#' {
			continue
		}
		cookie, err := parseNetscapeCookie(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		cookie.HTTPOnly = httpOnly
		cookies = append(cookies, cookie)
	}
	return cookies, lines.Err()
}

// parseNetscapeCookie parses one line of cookies.txt.
func parseNetscapeCookie(text string) (Cookie, error) {
	const fieldCount = 7
	fields := strings.Split(text, "\t")
	if len(fields) != fieldCount {
		return Cookie{}, fmt.Errorf("it has %d tab-separated fields, not %d", len(fields), fieldCount)
	}
	cookie := Cookie{
		Domain: fields[0], HostOnly: !strings.EqualFold(fields[1], "TRUE"), Path: fields[2],
		Secure: strings.EqualFold(fields[3], "TRUE"), Name: fields[5], value: fields[6],
	}
	seconds, err := strconv.ParseInt(fields[4], 10, 64)
	if err != nil {
		return Cookie{}, errors.New("its fifth field is not a time in seconds")
	}
	if seconds > 0 {
		cookie.Expires = time.Unix(seconds, 0)
	}
	return cookie.validate()
}
