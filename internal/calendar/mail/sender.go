package mail

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-msgauth/authres"
	"github.com/emersion/go-msgauth/dkim"
	"github.com/emersion/go-msgauth/dmarc"

	"standin/internal/calendar/calendarsync"
)

// maxSignatures limits the DKIM signatures of a message that are verified.
const maxSignatures = 5

// maxSignatureAge is how old a DKIM signature may be when a message is received.
// Mail servers try to deliver mail for five days.
const maxSignatureAge = 7 * 24 * time.Hour

// authentication is what is known of the origin of a message.
type authentication struct {
	method    string // how the author is authenticated, for people
	sealed    bool   // the author's host has written the structure of the body
	addressed bool   // the author's host has sent the message to a recipient of the Policy
}

// authenticate returns how the author of a message is authenticated. It returns a
// *RejectedError if the author is not. Other errors are failures of DNS, after which it
// may be tried again.
func (p *Policy) authenticate(ctx context.Context, r *resolver, m received, c *content) (authentication, error) {
	if c.from == "" {
		return authentication{}, &RejectedError{"The message does not have exactly one author in its From field."}
	}
	remote, _ := netip.ParseAddr(m.remote)
	if m.source == "smtp" && inNetworks(p.Networks, remote) {
		return authentication{method: "network " + remote.String(), sealed: true, addressed: true}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	a := &authenticator{policy: p, resolver: r, content: c, message: m}
	if m.source == "imap" || inNetworks(p.Relays, remote) {
		if found, ok, err := a.trustedResult(ctx); ok || err != nil {
			return found, err
		}
	}
	return a.verifyDKIM(ctx)
}

// authenticator authenticates the author of one message.
type authenticator struct {
	policy   *Policy
	resolver *resolver
	content  *content
	message  received
}

// vouches reports whether a domain vouches for the author (RFC 7489, section 3.1), or
// is one of the signers that the operator accepts for the author. Another domain of
// the same organization does so unless the DMARC policy of the author's domain is
// strict.
func (a *authenticator) vouches(ctx context.Context, domain string, bySPF bool) (bool, error) {
	domain = strings.ToLower(strings.TrimSuffix(domain, "."))
	own := domainOf(a.content.from)
	switch {
	case !a.related(domain):
		return false, nil
	case domain == own || calendarsync.Organization(domain) != calendarsync.Organization(own):
		return true, nil
	}
	for _, name := range []string{own, calendarsync.Organization(own)} {
		record, err := dmarc.LookupWithOptions(name, &dmarc.LookupOptions{LookupTXT: func(name string) ([]string, error) {
			return a.resolver.txt(ctx, name)
		}})
		switch {
		case dmarc.IsTempFail(err):
			return false, fmt.Errorf("read the DMARC policy of %s: %w", own, err)
		case err == nil:
			return bySPF && record.SPFAlignment != dmarc.AlignmentStrict || !bySPF && record.DKIMAlignment != dmarc.AlignmentStrict, nil
		}
	}
	return true, nil
}

// related reports whether a domain may vouch for the author.
func (a *authenticator) related(domain string) bool {
	domain = strings.ToLower(strings.TrimSuffix(domain, "."))
	if domain == "" {
		return false
	}
	return calendarsync.Organization(domain) == calendarsync.Organization(domainOf(a.content.from)) ||
		slices.ContainsFunc(a.policy.Senders, func(s Sender) bool { return s.Signer == domain && s.matches(a.content.from) })
}

// verifyDKIM returns the authentication by the first valid signature of a domain that
// vouches for the author. It looks up the keys of related domains only.
func (a *authenticator) verifyDKIM(ctx context.Context) (authentication, error) {
	results, err := dkim.VerifyWithOptions(bytes.NewReader(a.message.raw), &dkim.VerifyOptions{
		MaxVerifications: maxSignatures,
		LookupTXT: func(name string) ([]string, error) {
			if _, domain, _ := strings.Cut(name, dkimSeparator); !a.related(domain) {
				return nil, errors.New("the domain is not the sender's")
			}
			return a.resolver.txt(ctx, name)
		},
	})
	var reasons []string
	var temporary error
	for _, result := range results {
		found, err := a.verified(ctx, result)
		if err == nil {
			return found, nil
		}
		if refusal, ok := errors.AsType[*RejectedError](err); ok {
			reasons = append(reasons, refusal.Reason)
		} else {
			temporary = err
		}
	}
	switch {
	case temporary != nil:
		return authentication{}, temporary
	case len(reasons) == 0 && err == nil:
		reasons = []string{"it has no DKIM signature"}
	case len(reasons) == 0:
		reasons = []string{"its DKIM signatures cannot be read"}
	}
	return authentication{}, &RejectedError{
		fmt.Sprintf("The sender %s is not authenticated: %s.", a.content.from, strings.Join(reasons, ", ")),
	}
}

// verified returns the authentication by a verified signature.
func (a *authenticator) verified(ctx context.Context, result *dkim.Verification) (found authentication, err error) {
	domain := printable(strings.ToLower(result.Domain), 100)
	refuse := func(format string, args ...any) error {
		return &RejectedError{"the signature of " + domain + " " + fmt.Sprintf(format, args...)}
	}
	switch {
	case !a.related(result.Domain):
		return found, refuse("is not for the domain of %s", a.content.from)
	case dkim.IsTempFail(result.Err):
		return found, fmt.Errorf("verify the DKIM signature of %s: %w", domain, result.Err)
	case result.Err != nil:
		return found, refuse("is not valid (%v)", result.Err)
	case !result.Time.IsZero() && a.message.at.Sub(result.Time) > maxSignatureAge:
		return found, refuse("is older than %d days", maxSignatureAge/(24*time.Hour))
	}
	vouches, err := a.vouches(ctx, result.Domain, false)
	if err != nil {
		return found, err
	}
	if !vouches {
		return found, refuse("is not for the domain of %s, whose DMARC policy is strict", a.content.from)
	}
	found, err = a.signed(result.HeaderKeys)
	if err != nil {
		return found, refuse("is not sufficient: %v", err)
	}
	found.method = "DKIM signature of " + domain
	return found, nil
}

// signed returns what a valid signature of header fields proves. A field is signed if
// the signature lists it as often as the message has it: others may have been added.
// Without a signed Content-Type, only the boundary at the beginning of the body, which
// is signed, proves that the author has written the parts of a message.
func (a *authenticator) signed(fields []string) (authentication, error) {
	header := a.content.header
	covers := func(name string) bool {
		listed := 0
		for _, field := range fields {
			if strings.EqualFold(field, name) {
				listed++
			}
		}
		return header.FieldsByKey(name).Len() <= listed
	}
	for _, name := range []string{"Subject", "Date"} {
		if !covers(name) {
			return authentication{}, fmt.Errorf("it does not include the %s field", name)
		}
	}
	found := authentication{sealed: true}
	for all := header.Fields(); all.Next(); {
		if strings.HasPrefix(strings.ToLower(all.Key()), "content-") && !covers(all.Key()) {
			found.sealed = a.content.framed
		}
	}
	for _, name := range []string{"To", "Cc"} {
		found.addressed = found.addressed || covers(name) && a.sentTo(name)
	}
	return found, nil
}

// sentTo reports whether a recipient of the policy is in an address field.
func (a *authenticator) sentTo(field string) bool {
	addresses, err := a.content.header.AddressList(field)
	return err == nil && slices.ContainsFunc(addresses, func(address *mail.Address) bool { return a.policy.receives(address.Address) })
}

// NoAuthservID stands for the name of a trusted host that writes none into
// Authentication-Results, as Microsoft 365 does.
const NoAuthservID = "none"

// resultWithout matches an Authentication-Results field without the name of a host.
var resultWithout = regexp.MustCompile(`^\s*[a-z-]+\s*=`)

// trustedResult returns the authentication according to the Authentication-Results
// field of a trusted host (RFC 8601). Only the topmost field of these hosts counts:
// those below may be the sender's. A field without a name counts if it is the topmost
// one of all.
func (a *authenticator) trustedResult(ctx context.Context) (found authentication, ok bool, err error) {
	fields := a.content.header.FieldsByKey("Authentication-Results")
	for topmost := true; fields.Next(); topmost = false {
		value := withoutComments(fields.Value())
		nameless := resultWithout.MatchString(value)
		if nameless {
			value = NoAuthservID + "; " + value
		}
		host, results, err := authres.Parse(value)
		if nameless != (host == NoAuthservID) || nameless && !topmost ||
			!slices.ContainsFunc(a.policy.AuthservIDs, func(trusted string) bool { return strings.EqualFold(trusted, host) }) {
			continue
		}
		if err == nil {
			return a.readResults(ctx, host, results)
		}
		break
	}
	return authentication{}, false, nil
}

// readResults returns the authentication according to the results of a trusted host.
// By SPF, the sender's own host has sent the message as it is. By DKIM, it is as the
// signature says.
func (a *authenticator) readResults(ctx context.Context, host string, results []authres.Result) (authentication, bool, error) {
	signer, passed := "", ""
	for _, result := range results {
		switch r := result.(type) {
		case *authres.SPFResult:
			if r.Value != authres.ResultPass {
				continue
			}
			vouches, err := a.vouches(ctx, domainOf(r.From), true)
			if err != nil {
				return authentication{}, false, err
			}
			if vouches {
				return authentication{method: "SPF, checked by " + host, sealed: true, addressed: a.sentTo("To") || a.sentTo("Cc")}, true, nil
			}
		case *authres.DKIMResult:
			if r.Value != authres.ResultPass {
				continue
			}
			domain := cmp.Or(r.Domain, domainOf(r.Identifier))
			vouches, err := a.vouches(ctx, domain, false)
			if err != nil {
				return authentication{}, false, err
			}
			if vouches {
				signer, passed = strings.ToLower(domain), "DKIM"
			}
		case *authres.DMARCResult:
			if r.Value == authres.ResultPass && strings.EqualFold(domainOf(r.From), domainOf(a.content.from)) && passed == "" {
				passed = "DMARC"
			}
		}
	}
	if passed == "" {
		return authentication{}, false, nil
	}
	// The host does not say which signature it has verified, so the authentication is what all signatures of the
	// signer prove together. DMARC without any signature has passed by SPF.
	found := authentication{method: passed + ", checked by " + host, sealed: true, addressed: true}
	signatures := 0
	for fields := a.content.header.FieldsByKey("DKIM-Signature"); fields.Next(); {
		domain, names := readSignature(fields.Value())
		if signer != "" && domain != signer || !a.related(domain) {
			continue
		}
		signatures++
		one, err := a.signed(names)
		if err != nil {
			return authentication{}, true, &RejectedError{
				fmt.Sprintf("The sender %s is not authenticated: the signature of %s is not sufficient: %v.", a.content.from, printable(domain, 100),
					err),
			}
		}
		found.sealed, found.addressed = found.sealed && one.sealed, found.addressed && one.addressed
	}
	switch {
	case signatures == 0 && passed == "DMARC":
		found.addressed = a.sentTo("To") || a.sentTo("Cc")
	case signatures == 0:
		return authentication{}, false, nil
	}
	return found, true, nil
}

// readSignature returns the domain of a DKIM-Signature field and the fields that it
// signs.
func readSignature(value string) (domain string, fields []string) {
	for tag := range strings.SplitSeq(value, ";") {
		name, text, _ := strings.Cut(tag, "=")
		text = strings.Join(strings.Fields(text), "")
		switch strings.TrimSpace(name) {
		case "d":
			domain = strings.ToLower(text)
		case "h":
			fields = strings.Split(text, ":")
		}
	}
	return domain, fields
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
