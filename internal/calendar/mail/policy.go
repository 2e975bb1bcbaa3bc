package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"standin/internal/calendar"
)

// Sender is an entry of STANDIN_MAIL_SENDERS.
type Sender struct {
	From   string // address or domain of the From field in lower case, or *
	Signer string // domain whose DKIM signature, and whose mail for its meetings, is accepted; empty if only its own is
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
	Senders        []Sender       `env:"STANDIN_MAIL_SENDERS" placeholder:"example.com,…" help:"Addresses and domains that may schedule meetings, also those of other organizers; * admits everyone for the meetings they organize. example.com=google.com also accepts DKIM signatures of google.com for example.com, and its own mail for meetings that example.com organizes. Required to receive mail."`
	DomainMeetings int            `env:"STANDIN_MAIL_DOMAIN_MEETINGS" default:"20" help:"Meetings per day for each sender domain that only * admits; 0 means no limit."`
	Recipients     []string       `env:"STANDIN_MAIL_RECIPIENTS" placeholder:"notes@example.com,…" help:"Addresses that people invite to their meetings, or @ and a domain. The SMTP server accepts mail for them. Default: the user of the mailbox, if that is an address."`
	Networks       []netip.Prefix `env:"STANDIN_MAIL_NETWORKS" placeholder:"10.0.0.0/8,…" help:"Networks of SMTP clients whose From field is trusted without further authentication. Default: none."`
	Relays         []netip.Prefix `env:"STANDIN_MAIL_RELAYS" placeholder:"10.0.0.7/32,…" help:"Networks of SMTP clients whose Authentication-Results are trusted. Default: none."`
	AuthservIDs    []string       `env:"STANDIN_MAIL_AUTHSERV_IDS" name:"authserv-ids" placeholder:"mx.example.com,…" help:"Names that the trusted mail hosts write into Authentication-Results, for mail from the mailbox and the relays; none stands for a host that writes no name, such as Microsoft 365. Default: no host is trusted."`
	MeetingHosts   []string       `kong:"-"` // hosts of meetings beside those of the platforms, as in meetinglink.Resolve

	LookupTXT func(ctx context.Context, name string) ([]string, error) `kong:"-"` // net.DefaultResolver's when nil
}

func (p *Policy) check() error {
	if len(p.Senders) == 0 {
		return errors.New("STANDIN_MAIL_SENDERS must be set: the addresses and domains that may schedule meetings, such as example.com; * admits everyone who organizes a meeting")
	}
	if len(p.Recipients) == 0 {
		return errors.New("STANDIN_MAIL_RECIPIENTS must be set: the addresses that people invite to their meetings")
	}
	for _, recipient := range p.Recipients {
		if local, domain, found := strings.Cut(recipient, "@"); !found || !isDomain(domain) || strings.ContainsAny(local, " <>") {
			return fmt.Errorf("a recipient must be an address, or @ and a domain; got %q", recipient)
		}
	}
	return nil
}

// receives reports whether an address is one of the recipients. An address also
// has subaddresses, such as notes+weekly@example.com.
func (p *Policy) receives(address string) bool {
	local, domain, found := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	return found && slices.ContainsFunc(p.Recipients, func(recipient string) bool {
		recipient = strings.ToLower(recipient)
		return recipient == local+"@"+domain || recipient == "@"+domain
	})
}

// admits reports whether an author may schedule meetings, and whether an entry other
// than * says so.
func (p *Policy) admits(from string) (admitted, byName bool) {
	for _, s := range p.Senders {
		if s.matches(from) {
			admitted, byName = true, byName || s.From != "*"
		}
	}
	return admitted, byName
}

// signs reports whether a domain is one that the operator accepts for an organizer, such as
// that of a calendar service that sends its users' invitations.
func (p *Policy) signs(domain, organizer string) bool {
	return slices.ContainsFunc(p.Senders, func(s Sender) bool {
		return s.Signer != "" && s.Signer == domain && (organizer == "" || s.matches(organizer))
	})
}

// filter removes the events that the author of a message may not schedule, and those
// that do not invite a recipient.
func (p *Policy) filter(c *content, auth authentication, found plan) plan {
	admitted, byName := p.admits(c.from)
	service := domainOf(c.from)
	if !admitted && !p.signs(service, "") {
		return plan{
			problems: []string{fmt.Sprintf("%s may not schedule meetings by mail. An operator can allow it with STANDIN_MAIL_SENDERS.", c.from)},
			refused:  true,
		}
	}
	found.events = slices.DeleteFunc(found.events, func(e calendar.Event) bool {
		organizer := cmp.Or(e.Organizer, c.from)
		switch {
		case !byName && (!admitted || organizer != c.from) && !p.signs(service, organizer):
			found.problem("%s is organized by %s. Invitations of others can be forwarded only by senders that the operator names in "+
				"STANDIN_MAIL_SENDERS.", title(e), organizer)
		case !auth.addressed && !slices.ContainsFunc(e.Attendees, p.receives):
			found.problem("%s does not invite this address: it is neither one of the attendees nor in a To or Cc field that the sender has signed.",
				title(e))
		default:
			return false
		}
		found.refused = true
		return true
	})
	return found
}

func inNetworks(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address.Unmap()) })
}
