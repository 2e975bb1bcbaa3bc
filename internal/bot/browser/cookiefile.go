package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	largestCookieFile = 4 << 20
	mostCookies       = 5000

	// largestCookie is what browsers allow for name and value together.
	largestCookie = 4096
)

// FilePermissionError says that a file or folder with a visitor's credentials can
// be read by other users of the machine.
type FilePermissionError struct {
	Path   string
	Folder bool
	Mode   os.FileMode
}

// Error tells how to mend it.
func (e *FilePermissionError) Error() string {
	mode := "600"
	if e.Folder {
		mode = "700"
	}
	return fmt.Sprintf("%s is open to other users of this machine (mode %04o), and who reads it is signed in: run `chmod %s %s`",
		e.Path, e.Mode.Perm(), mode, e.Path)
}

// keptPrivate returns an *FilePermissionError for what others can read.
func keptPrivate(path string, info os.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return &FilePermissionError{Path: path, Folder: info.IsDir(), Mode: info.Mode()}
	}
	return nil
}

// CookieFileError says what is wrong in a file of cookies. No value is in it.
type CookieFileError struct {
	Path   string
	Place  string // "line 3" or "cookie 3"; empty for the file as a whole
	Detail string
}

// Error names the place.
func (e *CookieFileError) Error() string {
	text := "reading cookies from " + e.Path
	if e.Place != "" {
		text += ", " + e.Place
	}
	return text + ": " + e.Detail
}

// LoadCookies reads the cookies of a signed-in visitor: the JSON that browser
// extensions and automation tools export, or Netscape's cookies.txt. The file
// must be closed to other users. Cookies that have expired are left out.
func LoadCookies(path string) ([]Cookie, error) {
	content, err := readPrivateFile(path)
	if err != nil {
		return nil, err
	}
	read := netscapeCookies
	if start := bytes.TrimSpace(content); len(start) > 0 && (start[0] == '[' || start[0] == '{') {
		read = jsonCookies
	}
	cookies, err := read(content)
	var wrong *CookieFileError
	if errors.As(err, &wrong) {
		wrong.Path = path
	}
	if err != nil {
		return nil, err
	}
	if len(cookies) > mostCookies {
		return nil, &CookieFileError{Path: path, Detail: fmt.Sprintf("it holds more than %d", mostCookies)}
	}
	now := time.Now()
	fresh := cookies[:0]
	for _, cookie := range cookies {
		if cookie.Expires.IsZero() || cookie.Expires.After(now) {
			fresh = append(fresh, cookie)
		}
	}
	if len(fresh) == 0 {
		return nil, &CookieFileError{Path: path, Detail: "it holds no cookie that has not expired"}
	}
	return fresh, nil
}

// readPrivateFile reads a file of bounded size that others cannot read.
func readPrivateFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening cookies: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening cookies: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, &CookieFileError{Path: path, Detail: "it is no file"}
	}
	if err := keptPrivate(path, info); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, largestCookieFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading cookies: %w", err)
	}
	if len(content) > largestCookieFile {
		return nil, &CookieFileError{Path: path, Detail: fmt.Sprintf("it is larger than %d bytes", largestCookieFile)}
	}
	return content, nil
}

// exportedCookie is a cookie as extensions ("expirationDate", "hostOnly") and
// automation tools ("expires") write it.
type exportedCookie struct {
	Name           string   `json:"name"`
	Value          string   `json:"value"`
	Domain         string   `json:"domain"`
	HostOnly       *bool    `json:"hostOnly"`
	Path           string   `json:"path"`
	ExpirationDate *float64 `json:"expirationDate"`
	Expires        *float64 `json:"expires"`
	Secure         bool     `json:"secure"`
	HTTPOnly       bool     `json:"httpOnly"`
	SameSite       *string  `json:"sameSite"`
}

// jsonCookies reads an array of cookies, or an object with one named "cookies".
func jsonCookies(content []byte) ([]Cookie, error) {
	var exported []exportedCookie
	var wrapped struct {
		Cookies []exportedCookie `json:"cookies"`
	}
	err := json.Unmarshal(content, &exported)
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		err = json.Unmarshal(content, &wrapped)
		exported = wrapped.Cookies
	}
	if err != nil {
		// The decoder's own words may quote what it stumbled over.
		return nil, &CookieFileError{Detail: "it is no JSON of cookies: an array of objects with name, value, domain and path"}
	}
	cookies := make([]Cookie, 0, min(len(exported), mostCookies))
	for number, one := range exported {
		cookie, err := one.cookie()
		if err != nil {
			return nil, &CookieFileError{Place: fmt.Sprintf("cookie %d", number+1), Detail: err.Error()}
		}
		cookies = append(cookies, cookie)
	}
	return cookies, nil
}

// cookie turns the export into a cookie.
func (e exportedCookie) cookie() (Cookie, error) {
	cookie := Cookie{
		Name: e.Name, value: e.Value, Domain: e.Domain, HostOnly: !strings.HasPrefix(e.Domain, "."),
		Path: e.Path, Secure: e.Secure, HTTPOnly: e.HTTPOnly,
	}
	if e.HostOnly != nil {
		cookie.HostOnly = *e.HostOnly
	}
	for _, seconds := range []*float64{e.ExpirationDate, e.Expires} {
		if seconds != nil && *seconds > 0 && *seconds < math.MaxInt32*100 { // -1: a session's
			cookie.Expires = time.UnixMilli(int64(*seconds * 1000))
		}
	}
	if e.SameSite != nil {
		cookie.SameSite = sameSite(*e.SameSite)
	}
	return cookie.checked()
}

// sameSite folds the ways in which exports spell it.
func sameSite(exported string) string {
	switch strings.ToLower(exported) {
	case "strict":
		return "Strict"
	case "lax":
		return "Lax"
	case "none", "no_restriction":
		return "None"
	}
	return ""
}

// checked completes a cookie and refuses what can be none.
func (c Cookie) checked() (Cookie, error) {
	c.Domain = strings.ToLower(strings.TrimPrefix(c.Domain, "."))
	if c.Path == "" {
		c.Path = "/"
	}
	switch {
	case c.Domain == "" || strings.ContainsAny(c.Domain, "/:@ \t"):
		return Cookie{}, errors.New("it has no host as its domain")
	case c.Path[0] != '/':
		return Cookie{}, errors.New("its path does not begin with /")
	case c.Name == "" && c.value == "":
		return Cookie{}, errors.New("it is empty")
	case len(c.Name)+len(c.value) > largestCookie:
		return Cookie{}, fmt.Errorf("it is longer than %d bytes", largestCookie)
	case strings.ContainsFunc(c.Name+c.value+c.Path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Cookie{}, errors.New("it holds control characters")
	}
	return c, nil
}

// httpOnlyMark begins lines of cookies.txt whose cookie scripts cannot see.
const httpOnlyMark = "#HttpOnly_"

// netscapeCookies reads cookies.txt: seven fields with tabs between them.
func netscapeCookies(content []byte) ([]Cookie, error) {
	var cookies []Cookie
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, largestCookieFile)
	for number := 1; lines.Scan(); number++ {
		line, httpOnly := strings.CutPrefix(strings.TrimSuffix(lines.Text(), "\r"), httpOnlyMark)
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		cookie, err := netscapeCookie(line)
		if err != nil {
			return nil, &CookieFileError{Place: fmt.Sprintf("line %d", number), Detail: err.Error()}
		}
		cookie.HTTPOnly = httpOnly
		cookies = append(cookies, cookie)
	}
	return cookies, lines.Err()
}

// netscapeCookie reads one line of cookies.txt.
func netscapeCookie(line string) (Cookie, error) {
	const fieldCount = 7
	fields := strings.Split(line, "\t")
	if len(fields) != fieldCount {
		return Cookie{}, fmt.Errorf("it has %d fields with tabs between them, not %d", len(fields), fieldCount)
	}
	cookie := Cookie{
		Domain: fields[0], HostOnly: !strings.EqualFold(fields[1], "TRUE"), Path: fields[2],
		Secure: strings.EqualFold(fields[3], "TRUE"), Name: fields[5], value: fields[6],
	}
	seconds, err := strconv.ParseInt(fields[4], 10, 64)
	if err != nil {
		return Cookie{}, errors.New("its fifth field is no time in seconds")
	}
	if seconds > 0 {
		cookie.Expires = time.Unix(seconds, 0)
	}
	return cookie.checked()
}
