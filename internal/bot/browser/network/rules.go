package network

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"standin/internal/base/dialguard"
)

// RefusedError reports that a target was refused before any packet was sent.
type RefusedError struct {
	Target string // host and port, as named by the browser
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("refused connection to %s: %s", e.Target, e.Reason)
}

// rules are the exceptions of the proxy.
type rules struct {
	mutex      sync.RWMutex
	exceptions map[string]string // path prefix, or "" for all paths, by host and port
}

// allow adds an exception and returns a function that removes it.
func (r *rules) allow(hostPort, pathPrefix string) (remove func(), err error) {
	target, err := normalize(hostPort)
	if err != nil {
		return nil, fmt.Errorf("allow %q: %w", hostPort, err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.exceptions[target] = pathPrefix
	return func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		delete(r.exceptions, target)
	}, nil
}

// exception returns the path prefix of the target's exception.
func (r *rules) exception(target string) (pathPrefix string, found bool) {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	pathPrefix, found = r.exceptions[target]
	return pathPrefix, found
}

// admit checks a plain HTTP request, or a tunnel, whose path is unknown and empty. Its error
// does not reveal that another path is allowed.
func (r *rules) admit(target, path string) error {
	prefix, found := r.exception(target)
	if !found || len(path) >= len(prefix) && subtle.ConstantTimeCompare([]byte(path[:len(prefix)]), []byte(prefix)) == 1 {
		return nil
	}
	return &RefusedError{Target: target, Reason: "the page may not connect to it"}
}

// AllowedTargets converts an operator's list of allowed hosts to
// ProxySettings.Allowed. Only literal IP addresses are exceptions: a host name passes the
// dial guard, because its addresses can change. An entry without a port allows ports
// 80 and 443.
func AllowedTargets(entries []string) []string {
	var targets []string
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		host, _, err := net.SplitHostPort(entry)
		hasPort := err == nil
		if !hasPort {
			host = strings.Trim(entry, "[]") // an IPv6 address in a URL
		}
		switch _, err := netip.ParseAddr(host); {
		case err != nil: // a name
		case hasPort:
			targets = append(targets, entry)
		default:
			targets = append(targets, net.JoinHostPort(host, "443"), net.JoinHostPort(host, "80"))
		}
	}
	return targets
}

// normalize returns a host and port in lower case, without a trailing dot.
func normalize(hostPort string) (string, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return "", fmt.Errorf("not a host and port: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if host = strings.TrimSuffix(strings.ToLower(host), "."); host == "" || err != nil || number == 0 {
		return "", fmt.Errorf("%q is not a host and port", hostPort)
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10)), nil
}

// dialer connects to public addresses and to exceptions.
type dialer struct {
	rules    *rules
	upstream func(*url.URL) (*url.URL, error)
	guard    dialguard.Guard
}

// dial connects to a normalized target. Targets without an exception pass the
// dial guard.
func (d *dialer) dial(ctx context.Context, network, target string) (net.Conn, error) {
	if _, excepted := d.rules.exception(target); excepted {
		dialer := net.Dialer{Timeout: dialTimeout, Resolver: d.guard.Resolver}
		return dialer.DialContext(ctx, network, target)
	}
	conn, err := d.dialGuarded(ctx, network, target)
	var refused *dialguard.RefusedError
	if errors.As(err, &refused) {
		return nil, &RefusedError{Target: target, Reason: refused.Reason()}
	}
	return conn, err
}

// dialGuarded connects to a target that passes the dial guard, through the forward proxy if
// there is one for it.
func (d *dialer) dialGuarded(ctx context.Context, network, target string) (net.Conn, error) {
	forward, err := d.upstream(&url.URL{Scheme: "https", Host: target})
	switch {
	case err != nil:
		return nil, err
	case forward == nil:
		return d.guard.DialContext(ctx, network, target)
	}
	host, _, _ := net.SplitHostPort(target) // it is normalized
	if err := d.guard.CheckHost(ctx, host); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{Resolver: d.guard.Resolver}).DialContext(ctx, network, withPort(forward.Host))
	if err != nil {
		return nil, fmt.Errorf("connect to the forward proxy: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: http.Header{}}
	if password, set := forward.User.Password(); set {
		credentials := base64.StdEncoding.EncodeToString([]byte(forward.User.Username() + ":" + password))
		request.Header.Set("Proxy-Authorization", "Basic "+credentials)
	}
	err = request.Write(conn)
	if err == nil {
		var answer *http.Response
		answer, err = http.ReadResponse(bufio.NewReader(conn), request) //nolint:bodyclose // the connection is the body
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
	}
	if err != nil {
		_ = conn.Close() // the error is told
		return nil, fmt.Errorf("open a tunnel through the forward proxy: %w", err)
	}
	return conn, nil
}
