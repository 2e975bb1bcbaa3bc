package mail

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-msgauth/authres"
	"github.com/emersion/go-msgauth/dkim"
	"golang.org/x/net/publicsuffix"

	"standin/internal/calendar"
)

const (
	maxSignatures = 10               // DKIM signatures of a message that are verified
	lookupTime    = 15 * time.Second // limit of all DNS lookups for a message
)

// Sender is an entry of STANDIN_MAIL_SENDERS.
type Sender struct {
	From   string // address or domain of the From field in lower case, or *
	Signer string // domain whose DKIM signature is accepted for it; empty if only its own is
}

// UnmarshalText parses an address, a domain or *, optionally with =domain.
func (s *Sender) UnmarshalText(text []byte) error {
	from, signer, found := strings.Cut(strings.ToLower(strings.TrimSpace(string(text))), "=")
	_, domain, hasAt := strings.Cut(from, "@")
	if !hasAt {
		domain = from
	}
	if from != "*" && !isDomain(domain) || found && !isDomain(signer) || found && from == "*" {
		return fmt.Errorf("a sender must be an address, a domain or *, optionally followed by = and the domain that signs its mail, for example example.com=google.com; got %q", text)
	}
	s.From, s.Signer = from, signer
	return nil
}

func isDomain(text string) bool {
	return text != "" && len(text) <= 253 && !strings.ContainsAny(text, " @=/,;*<>\"'") && strings.Trim(text, ".") == text
}

// matches reports whether the entry is for an address.
func (s Sender) matches(address string) bool {
	return s.From == "*" || s.From == address || s.From == domainOf(address)
}

func domainOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// Policy decides who may schedule meetings by mail.
type Policy struct {
	Senders     []Sender       // who may schedule; when empty, everyone for the meetings they organize
	Networks    []netip.Prefix // SMTP clients whose From field is trusted
	Relays      []netip.Prefix // SMTP clients whose Authentication-Results are trusted
	AuthservIDs []string       // names of trusted hosts in Authentication-Results

	LookupTXT func(ctx context.Context, name string) ([]string, error) // net.DefaultResolver's when nil
}

// refusalError says why a message is not accepted.
type refusalError struct{ reason string }

func (e *refusalError) Error() string { return e.reason }

// authenticate returns how the author of a message is authenticated. It returns
// a *refusalError if the author is not, and a *temporaryError if that cannot be
// determined now.
func (p *Policy) authenticate(ctx context.Context, m pending, c *content) (string, error) {
	if c.from == "" {
		return "", &refusalError{"The message does not have exactly one author in its From field."}
	}
	remote, _ := netip.ParseAddr(m.remote)
	if m.source == "smtp" && inNetworks(p.Networks, remote) {
		return "network " + remote.String(), nil
	}
	if m.source == "imap" || inNetworks(p.Relays, remote) {
		if method := p.trustedResult(c); method != "" {
			return method, nil
		}
	}
	signer, err := p.verifyDKIM(ctx, m.raw, c.from)
	if err != nil {
		return "", err
	}
	return "DKIM signature of " + signer, nil
}

func inNetworks(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address.Unmap()) })
}

// aligned reports whether a domain vouches for an author (RFC 7489, section
// 3.1), or is one of the signers that the operator accepts for the author.
func (p *Policy) aligned(domain, from string) bool {
	domain = strings.ToLower(strings.TrimSuffix(domain, "."))
	own := domainOf(from)
	if domain == "" {
		return false
	}
	if domain == own {
		return true
	}
	a, err := publicsuffix.EffectiveTLDPlusOne(domain)
	b, ownErr := publicsuffix.EffectiveTLDPlusOne(own)
	if err == nil && ownErr == nil && a == b {
		return true
	}
	return slices.ContainsFunc(p.Senders, func(s Sender) bool { return s.Signer == domain && s.matches(from) })
}

// trustedResult returns how a trusted host authenticated the author, according
// to the Authentication-Results field that it added (RFC 8601), or "". Only the
// topmost field counts: those below may be the sender's.
func (p *Policy) trustedResult(c *content) string {
	fields := c.header.FieldsByKey("Authentication-Results")
	for fields.Next() {
		host, results, err := authres.Parse(withoutComments(fields.Value()))
		if !slices.ContainsFunc(p.AuthservIDs, func(trusted string) bool { return strings.EqualFold(trusted, host) }) {
			continue
		}
		if err != nil {
			return ""
		}
		for _, result := range results {
			switch r := result.(type) {
			case *authres.DKIMResult:
				if r.Value == authres.ResultPass && p.aligned(signerOf(r), c.from) {
					return "DKIM, checked by " + host
				}
			case *authres.SPFResult:
				if r.Value == authres.ResultPass && p.aligned(domainOf(r.From), c.from) {
					return "SPF, checked by " + host
				}
			case *authres.DMARCResult:
				if r.Value == authres.ResultPass && strings.EqualFold(domainOf(r.From), domainOf(c.from)) {
					return "DMARC, checked by " + host
				}
			}
		}
		return ""
	}
	return ""
}

// withoutComments removes comments and quoted strings from a field. They may
// contain text of the sender, and the parser does not know them.
func withoutComments(value string) string {
	var b strings.Builder
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && (depth > 0 || quoted):
			i++
		case c == '"' && depth == 0:
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// signerOf returns the domain of a DKIM result, which has d or i.
func signerOf(r *authres.DKIMResult) string {
	if r.Domain != "" {
		return r.Domain
	}
	return domainOf(r.Identifier)
}

// verifyDKIM returns the aligned domain that signed the message.
func (p *Policy) verifyDKIM(ctx context.Context, raw []byte, from string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	lookup := p.LookupTXT
	if lookup == nil {
		lookup = net.DefaultResolver.LookupTXT
	}
	results, err := dkim.VerifyWithOptions(bytes.NewReader(raw), &dkim.VerifyOptions{
		MaxVerifications: maxSignatures,
		LookupTXT:        func(name string) ([]string, error) { return lookup(ctx, name) },
	})
	var reasons []string
	var temporary error
	for _, result := range results {
		switch {
		case !p.aligned(result.Domain, from):
			reasons = append(reasons, fmt.Sprintf("the signature of %s is not for the domain of %s", printable(result.Domain, 100), from))
		case result.Err == nil:
			return strings.ToLower(result.Domain), nil
		case dkim.IsTempFail(result.Err):
			temporary = &temporaryError{fmt.Errorf("verify the DKIM signature of %s: %w", printable(result.Domain, 100), result.Err)}
		default:
			reasons = append(reasons, fmt.Sprintf("the signature of %s is not valid (%v)", printable(result.Domain, 100), result.Err))
		}
	}
	switch {
	case temporary != nil:
		return "", temporary
	case len(reasons) == 0 && err == nil:
		reasons = []string{"it has no DKIM signature"}
	case len(reasons) == 0:
		reasons = []string{"its DKIM signatures cannot be read"}
	}
	return "", &refusalError{fmt.Sprintf("The sender %s is not authenticated: %s.", from, strings.Join(reasons, ", "))}
}

// filter removes the events that the author of a message may not schedule.
func (p *Policy) filter(c *content, found plan) plan {
	if len(p.Senders) > 0 {
		if !slices.ContainsFunc(p.Senders, func(s Sender) bool { return s.matches(c.from) }) {
			return plan{problems: []string{fmt.Sprintf("%s may not schedule meetings by mail: it is not in STANDIN_MAIL_SENDERS.", c.from)}, refused: true}
		}
		return found
	}
	found.events = slices.DeleteFunc(found.events, func(e calendar.Event) bool {
		if e.Organizer == c.from {
			return false
		}
		found.problem("%s is organized by %s. Only senders in STANDIN_MAIL_SENDERS may forward invitations of others.", title(e), e.Organizer)
		found.refused = true
		return true
	})
	return found
}
