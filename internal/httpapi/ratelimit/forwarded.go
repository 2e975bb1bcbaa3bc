package ratelimit

import "strings"

// listedHops returns the items of X-Forwarded-For, the nearest hop last.
func listedHops(values []string) []string {
	var hops []string
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			hops = append(hops, strings.TrimSpace(item))
		}
	}
	return hops
}

// forwardedHops returns the for parameters of the Forwarded header (RFC 7239,
// section 4), the nearest hop last, and "" for an element without one. It returns
// none when any value is malformed: an open quotation of the client could contain
// the element of the proxy.
func forwardedHops(values []string) []string {
	var hops []string
	for _, value := range values {
		parser := forwardedParser{rest: value}
		found, ok := parser.elements()
		if !ok {
			return nil
		}
		hops = append(hops, found...)
	}
	return hops
}

// forwardedParser parses a value of the Forwarded header.
type forwardedParser struct{ rest string }

// elements parses forwarded-element *( "," forwarded-element ).
func (p *forwardedParser) elements() (hops []string, ok bool) {
	for {
		hop, ok := p.element()
		if !ok {
			return nil, false
		}
		hops = append(hops, hop)
		if p.rest == "" {
			return hops, true
		}
		if !p.skip(',') {
			return nil, false
		}
	}
}

// element parses [ pair ] *( ";" [ pair ] ) and returns the value of for.
func (p *forwardedParser) element() (hop string, ok bool) {
	seen := false
	for {
		p.skipSpace()
		if name := p.token(); name != "" {
			value, ok := p.value()
			if !ok {
				return "", false
			}
			if strings.EqualFold(name, "for") {
				if seen { // each parameter may occur only once
					return "", false
				}
				hop, seen = value, true
			}
		}
		p.skipSpace()
		if !p.skip(';') {
			return hop, true
		}
	}
}

// value parses "=" ( token / quoted-string ). Unlike the RFC, it accepts unquoted
// addresses with colons and brackets.
func (p *forwardedParser) value() (string, bool) {
	if !p.skip('=') {
		return "", false
	}
	if p.skip('"') {
		return p.quoted()
	}
	end := strings.IndexAny(p.rest, " \t,;\"=")
	if end < 0 {
		end = len(p.rest)
	}
	value := p.rest[:end]
	p.rest = p.rest[end:]
	return value, value != ""
}

// quoted parses a quoted-string after its opening quotation mark.
func (p *forwardedParser) quoted() (string, bool) {
	var text strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = p.rest[i+1:]
			return text.String(), true
		case '\\':
			if i++; i == len(p.rest) {
				return "", false
			}
			text.WriteByte(p.rest[i])
		default:
			text.WriteByte(c)
		}
	}
	return "", false
}

// token parses the name of a parameter. It returns "" when there is none.
func (p *forwardedParser) token() string {
	end := strings.IndexAny(p.rest, " \t,;=\"")
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	return name
}

func (p *forwardedParser) skip(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *forwardedParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t") }
