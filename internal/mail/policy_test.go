package mail

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
)

// dnsKeys has the DKIM keys of domains, in a DNS of its own.
type dnsKeys map[string]ed25519.PrivateKey

func newKeys(domains ...string) dnsKeys {
	keys := dnsKeys{}
	for _, domain := range domains {
		_, keys[domain], _ = ed25519.GenerateKey(rand.Reader) // never fails
	}
	return keys
}

// lookup implements Policy.LookupTXT.
func (k dnsKeys) lookup(_ context.Context, name string) ([]string, error) {
	domain := strings.TrimPrefix(name, "s1._domainkey.")
	if domain == "slow.test" {
		return nil, &net.DNSError{Err: "timeout", Name: name, IsTimeout: true, IsTemporary: true}
	}
	key, ok := k[domain]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return []string{"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))}, nil
}

// sign signs a message for a domain.
func (k dnsKeys) sign(t testing.TB, raw []byte, domain string) []byte {
	t.Helper()
	return k.signFields(t, raw, domain, "From", "Subject", "Date", "To")
}

// signFields signs a message for a domain, with the given fields.
func (k dnsKeys) signFields(t testing.TB, raw []byte, domain string, fields ...string) []byte {
	t.Helper()
	var signed bytes.Buffer
	key, ok := k[domain]
	if !ok {
		_, key, _ = ed25519.GenerateKey(rand.Reader) // never fails
	}
	err := dkim.Sign(&signed, bytes.NewReader(raw), &dkim.SignOptions{
		Domain: domain, Selector: "s1", Signer: key, HeaderKeys: fields,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return signed.Bytes()
}

// TestAuthentication checks which messages are authenticated. A forged From
// schedules nothing.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	keys := newKeys("example.test", "mail.example.test", "example.org", "google.test", "evil.test")
	base := sample(t, "google-single")
	with := func(fields ...string) []byte { return append([]byte(strings.Join(fields, "\r\n")+"\r\n"), base...) }
	results := func(text string) []byte { return with("Authentication-Results: " + text) }
	signedResults := func(text, domain string) []byte {
		return append([]byte("Authentication-Results: "+text+"\r\n"), keys.sign(t, base, domain)...)
	}
	tests := map[string]struct {
		raw     []byte
		source  string // smtp when empty
		remote  string // 203.0.113.9 when empty
		auth    string // empty: refused
		refusal string
	}{
		"not signed":                  {raw: base, refusal: "it has no DKIM signature"},
		"signed":                      {raw: keys.sign(t, base, "example.test"), auth: "DKIM signature of example.test"},
		"signed by a subdomain":       {raw: keys.sign(t, base, "mail.example.test"), auth: "DKIM signature of mail.example.test"},
		"signed by another":           {raw: keys.sign(t, base, "evil.test"), refusal: "the signature of evil.test is not for the domain"},
		"signed by an allowed signer": {raw: keys.sign(t, base, "google.test"), auth: "DKIM signature of google.test"},
		"two signatures":              {raw: keys.sign(t, keys.sign(t, base, "evil.test"), "example.test"), auth: "DKIM signature of example.test"},
		"no key":                      {raw: dnsKeys{}.sign(t, base, "example.test"), refusal: "is not valid"},
		"changed afterwards":          {raw: bytes.Replace(keys.sign(t, base, "example.test"), []byte("20261021T130000Z"), []byte("20261021T140000Z"), 1), refusal: "is not valid"},
		"another From":                {raw: bytes.Replace(keys.sign(t, base, "example.test"), []byte("From: Ada Lovelace <ada@"), []byte("From: Ada Lovelace <eve@"), 1), refusal: "is not valid"},
		"a second From": {
			raw: append([]byte("From: Ada Lovelace <ada@example.test>\r\n"), keys.sign(t, bytes.Replace(base, []byte("ada@example.test>\r\nTo"), []byte("eve@evil.test>\r\nTo"), 1), "evil.test")...), refusal: "exactly one author",
		},
		"a trusted network": {raw: base, remote: "192.0.2.77", auth: "network 192.0.2.77"},
		"another network":   {raw: base, remote: "198.51.100.1", refusal: "no DKIM signature"},

		"results of the mailbox's host":        {raw: results("mx.example.test; spf=pass smtp.mailfrom=bounce@example.test"), source: "imap", auth: "SPF, checked by mx.example.test"},
		"results for a domain of the operator": {raw: signedResults("MX.example.test 1; dkim=pass header.i=@google.test header.s=s1", "google.test"), source: "imap", auth: "DKIM, checked by MX.example.test"},
		"DMARC":                                {raw: results("mx.example.test; dmarc=pass header.from=example.test"), source: "imap", auth: "DMARC, checked by mx.example.test"},
		"results of a relay":                   {raw: signedResults("mx.example.test; dkim=pass header.d=example.test", "example.test"), remote: "198.51.100.7", auth: "DKIM, checked by mx.example.test"},
		"results of any client":                {raw: results("mx.example.test; dkim=pass header.d=example.test"), refusal: "no DKIM signature"},
		"results of another host":              {raw: results("mx.evil.test; dkim=pass header.d=example.test"), source: "imap", refusal: "no DKIM signature"},
		"SPF of another domain":                {raw: results("mx.example.test; spf=pass smtp.mailfrom=eve@evil.test"), source: "imap", refusal: "no DKIM signature"},
		"results that fail":                    {raw: results("mx.example.test; dkim=fail header.d=example.test; spf=softfail smtp.mailfrom=ada@example.test"), source: "imap", refusal: "no DKIM signature"},
		"forged results below": {
			raw: with("Authentication-Results: mx.example.test; dkim=none", "Authentication-Results: mx.example.test; dkim=pass header.d=example.test"), source: "imap", refusal: "no DKIM signature",
		},
		"results without a name": {
			raw: results("spf=pass (sender IP is 198.51.100.1)\r\n smtp.mailfrom=example.test; dkim=none (message not signed)\r\n header.d=none;dmarc=pass action=none\r\n header.from=example.test;compauth=pass reason=100"), source: "imap", auth: "SPF, checked by none",
		},
		"signed results without a name": {
			raw: signedResults("spf=fail smtp.mailfrom=evil.test; dkim=pass (signature was verified)\r\n header.d=example.test;dmarc=pass action=none header.from=example.test", "example.test"), source: "imap", auth: "DKIM, checked by none",
		},
		"failed results without a name": {
			raw: results("spf=fail smtp.mailfrom=example.test; dkim=none header.d=none;dmarc=fail action=none header.from=example.test"), source: "imap", refusal: "no DKIM signature",
		},
		"results without a name below": {
			raw: with("Authentication-Results: spf=fail smtp.mailfrom=evil.test", "Authentication-Results: spf=pass smtp.mailfrom=example.test"), source: "imap", refusal: "no DKIM signature",
		},
		"results of a host that is called none": {raw: results("none; spf=pass smtp.mailfrom=ada@example.test"), source: "imap", refusal: "no DKIM signature"},
		"results in a comment": {
			raw: results(`mx.example.test; spf=pass (sender "x; dkim=pass header.d=example.test; y"@evil.test) smtp.mailfrom="a; dkim=pass header.d=example.test; b"@evil.test`), source: "imap", refusal: "no DKIM signature",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(s *Settings) {
				var signer, everyone Sender
				if err := errors.Join(signer.UnmarshalText([]byte("example.test=google.test")), everyone.UnmarshalText([]byte("*"))); err != nil {
					t.Fatal(err)
				}
				s.Policy.Senders, s.Policy.AuthservIDs, s.Policy.LookupTXT = []Sender{signer, everyone}, []string{"mx.example.test", NoAuthservID}, keys.lookup
				s.Policy.Relays = prefixes("198.51.100.7/32")
			})
			m := received{source: "smtp", remote: "203.0.113.9", raw: test.raw}
			if test.source != "" {
				m.source = test.source
			}
			if test.remote != "" {
				m.remote = test.remote
			}
			if err := h.receive(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			got := h.run(t)
			want := accepted
			if test.auth == "" {
				want = refused
			}
			if got.Verdict != want || got.Auth != test.auth || !strings.Contains(got.Detail, test.refusal) {
				t.Errorf("%s by %q: %s", got.Verdict, got.Auth, got.Detail)
			}
			if jobs := h.service.scheduled(); (len(jobs) > 0) != (test.auth != "") {
				t.Errorf("jobs %q", jobs)
			}
		})
	}
}

// TestAuthenticationIsRetried checks that a DNS failure delays a message.
func TestAuthenticationIsRetried(t *testing.T) {
	t.Parallel()
	keys := newKeys("example.test")
	broken := true
	h := newHarness(t, func(s *Settings) {
		s.Policy.LookupTXT = func(ctx context.Context, name string) ([]string, error) {
			if broken {
				name = "s1._domainkey.slow.test"
			}
			return keys.lookup(ctx, name)
		}
	})
	if err := h.receive(t.Context(), received{source: "smtp", remote: "203.0.113.9", raw: keys.sign(t, sample(t, "google-single"), "example.test")}); err != nil {
		t.Fatal(err)
	}
	if got := h.run(t); got.Verdict != waiting || got.NextAt.IsZero() || !strings.Contains(got.Detail, "DKIM") {
		t.Fatalf("without DNS: %+v", got)
	}
	broken = false
	h.now = h.now.Add(time.Minute)
	if got := h.run(t); got.Verdict != accepted {
		t.Errorf("with DNS: %+v", got)
	}
}

// TestSenders checks who may schedule whose meetings.
func TestSenders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		senders  string
		messages string
		jobs     int
		verdict  string // of the last message
	}{
		"the organizer":                   {"*", "google-single", 1, accepted},
		"a person who forwards":           {"*", "forwarded-by-gmail", 0, refused},
		"another's cancellation":          {"*", "google-single other-organizer", 1, refused},
		"a listed person who forwards":    {"bob@example.test", "forwarded-by-gmail", 1, accepted},
		"a listed domain":                 {"example.test", "forwarded-by-gmail", 1, accepted},
		"an organizer who is not listed":  {"bob@example.test", "google-single", 0, refused},
		"another domain's cancellation":   {"example.test", "google-single other-organizer", 1, refused},
		"a domain that ends like another": {"ample.test", "google-single", 0, refused},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(s *Settings) {
				s.Policy.Senders = make([]Sender, 1)
				if err := s.Policy.Senders[0].UnmarshalText([]byte(test.senders)); err != nil {
					t.Fatal(err)
				}
			})
			var got Record
			for name := range strings.FieldsSeq(test.messages) {
				got = h.process(t, sample(t, name))
			}
			if jobs := h.service.scheduled(); got.Verdict != test.verdict || len(jobs) != test.jobs {
				t.Errorf("%s (%s), jobs %q", got.Verdict, got.Detail, jobs)
			}
		})
	}
	for _, text := range []string{"", "=x.test", "*=x.test", "a b", "ada@", "x.test=", ".x.test"} {
		if err := new(Sender).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted as a sender", text)
		}
	}
	if s := new(Sender); s.UnmarshalText([]byte("Ada@Example.test")) != nil || s.From != "ada@example.test" {
		t.Error(fmt.Sprint(s))
	}
}
