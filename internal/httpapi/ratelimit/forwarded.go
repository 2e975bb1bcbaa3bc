package ratelimit

import "strings"

// listedHops are the items of X-Forwarded-For, the nearest last.
func listedHops(values []string) []string {
	var hops []string
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			hops = append(hops, strings.TrimSpace(item))
		}
	}
	return hops
}

// forwardedHops are the for parameters of the Forwarded header (RFC 7239,
// section 4), the nearest last; "" for an element without one. There are none
// when any value is malformed: a client might have left a quotation open so
// that it takes in what the proxy adds.
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

// forwardedParser reads one value of the Forwarded header from its start.
type forwardedParser struct{ rest string }

// elements reads forwarded-element *( "," forwarded-element ).
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
		if !p.take(',') {
			return nil, false
		}
	}
}

// element reads [ pair ] *( ";" [ pair ] ) and returns the value of for.
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
				if seen { // each parameter may occur once
					return "", false
				}
				hop, seen = value, true
			}
		}
		p.skipSpace()
		if !p.take(';') {
			return hop, true
		}
	}
}

// value reads "=" ( token / quoted-string ). Beyond the letter of the RFC, a
// token may hold the colons and brackets of addresses left unquoted.
func (p *forwardedParser) value() (string, bool) {
	if !p.take('=') {
		return "", false
	}
	if p.take('"') {
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

// quoted reads what follows an opening quotation mark, to the closing one.
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

// token reads the name of a parameter; "" when there is none.
func (p *forwardedParser) token() string {
	end := strings.IndexAny(p.rest, " \t,;=\"")
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	return name
}

func (p *forwardedParser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *forwardedParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t") }
