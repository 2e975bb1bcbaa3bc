package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
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
	base := string(sample(t, "google-single"))
	var tests []struct {
		Name, Source, Remote, Auth, Refusal string
		Replaced, Signed, Altered, Headers  []string
	}
	readYAML(t, "authentication", &tests)
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			raw := []byte(strings.NewReplacer(test.Replaced...).Replace(base))
			for _, domain := range test.Signed {
				raw = keys.sign(t, raw, domain)
			}
			raw = []byte(strings.NewReplacer(test.Altered...).Replace(string(raw)))
			for _, field := range slices.Backward(test.Headers) {
				raw = append([]byte(field+"\r\n"), raw...)
			}
			h := newHarness(t, func(s *Settings) {
				var signer, everyone Sender
				if err := errors.Join(signer.UnmarshalText([]byte("example.test=google.test")), everyone.UnmarshalText([]byte("*"))); err != nil {
					t.Fatal(err)
				}
				s.Policy.Senders, s.Policy.AuthservIDs, s.Policy.LookupTXT = []Sender{signer, everyone}, []string{
					"mx.example.test", NoAuthservID,
				}, keys.lookup
				s.Policy.Relays = prefixes("198.51.100.7/32")
			})
			got := h.processFrom(t, cmp.Or(test.Source, "smtp"), cmp.Or(test.Remote, "203.0.113.9"), raw)
			want := accepted
			if test.Auth == "" {
				want = refused
			}
			if got.Verdict != want || got.Auth != test.Auth || !strings.Contains(got.Detail, test.Refusal) {
				t.Errorf("%s by %q: %s", got.Verdict, got.Auth, got.Detail)
			}
			if jobs := h.scheduled(t); (len(jobs) > 0) != (test.Auth != "") {
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
	if got := h.processFrom(t, "smtp", "203.0.113.9", keys.sign(t, sample(t, "google-single"), "example.test")); got.Verdict != waiting ||
		got.NextAt.IsZero() || !strings.Contains(got.Detail, "DKIM") {
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
		"a service for a listed person":   {"ada@example.test=example.test", "forwarded-by-gmail", 1, accepted},
		"a service for another domain":    {"example.org=example.test", "google-single", 0, refused},
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
			if jobs := h.scheduled(t); got.Verdict != test.verdict || len(jobs) != test.jobs {
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
