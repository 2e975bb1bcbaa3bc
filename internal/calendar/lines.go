package calendar

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

const (
	maxNesting    = 8
	maxParameters = 32 // parameters of a property; further ones are ignored
)

// ICSError describes why a calendar file cannot be used.
type ICSError struct{ Reason string }

func (e *ICSError) Error() string { return "unusable calendar: " + e.Reason }

// property is a content line (RFC 5545, section 3.1).
type property struct {
	name       string            // upper case
	parameters map[string]string // the first value of each, by upper-case name
	value      string            // still escaped
}

// component is the content between BEGIN and END.
type component struct {
	name       string // upper case
	properties []property
	children   []*component
}

// first returns the first property with the name, or nil.
func (c *component) first(name string) *property {
	for i := range c.properties {
		if c.properties[i].name == name {
			return &c.properties[i]
		}
	}
	return nil
}

// trimmed returns the text of the first property of a name, without spaces around it.
func (c *component) trimmed(name string) string { return strings.TrimSpace(c.text(name)) }

// text returns the unescaped value of the first property with the name, or "".
func (c *component) text(name string) string {
	if p := c.first(name); p != nil {
		return p.text()
	}
	return ""
}

// text returns the value without the escapes of RFC 5545, section 3.3.11.
// Unescaped commas and unknown escapes are kept, because programs write them.
func (p *property) text() string {
	if !strings.Contains(p.value, `\`) {
		return p.value
	}
	var b strings.Builder
	for i := 0; i < len(p.value); i++ {
		c := p.value[i]
		if c == '\\' && i+1 < len(p.value) {
			i++
			if c = p.value[i]; c == 'n' || c == 'N' {
				c = '\n'
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Text returns a calendar file in UTF-8 and without a byte order mark. A file in UTF-16
// is recognized by the mark, or by the zero bytes of its first letter.
func Text(file []byte) []byte {
	endianness := unicode.LittleEndian
	switch {
	case len(file) < 2, !bytes.HasPrefix(file, []byte("\xff\xfe")) && !bytes.HasPrefix(file, []byte("\xfe\xff")) && file[0] != 0 &&
		file[1] != 0:
		return bytes.TrimPrefix(file, []byte("\uFEFF"))
	case file[0] == 0:
		endianness = unicode.BigEndian
	}
	text, err := unicode.UTF16(endianness, unicode.UseBOM).NewDecoder().Bytes(file)
	if err != nil {
		return file
	}
	return text
}

// parseComponents parses the outermost components. Malformed lines are
// ignored. Unbalanced components are an error, because the missing part may be
// important.
func parseComponents(text string, budget *Budget) ([]*component, error) {
	limits := budget.limits()
	if len(text) > limits.bytes {
		return nil, &ICSError{fmt.Sprintf("longer than %d bytes", limits.bytes)}
	}
	root := &component{}
	open := []*component{root}
	count := 0
	// A line that starts with a space or tab continues the line before (RFC 5545, section 3.1). CR ends lines too.
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.NewReplacer("\n ", "", "\n\t", "").Replace(text)
	for content := range strings.SplitSeq(text, "\n") {
		if err := budget.Spend(1 + len(content)/256); err != nil {
			return nil, err
		}
		p, ok := parseProperty(validUTF8(content)) // unfolding joins characters that a line break split
		if !ok {
			continue
		}
		inner := open[len(open)-1]
		switch p.name {
		case "BEGIN":
			if count++; count > limits.components || len(open) > maxNesting {
				return nil, &ICSError{"there are too many components, or they are nested too deeply"}
			}
			child := &component{name: strings.ToUpper(strings.TrimSpace(p.value))}
			inner.children = append(inner.children, child)
			open = append(open, child)
		case "END":
			if len(open) == 1 || inner.name != strings.ToUpper(strings.TrimSpace(p.value)) {
				return nil, &ICSError{"END without BEGIN"}
			}
			open = open[:len(open)-1]
		default:
			inner.properties = append(inner.properties, p)
		}
	}
	if len(open) > 1 {
		return nil, &ICSError{"BEGIN without END"}
	}
	return root.children, nil
}

// validUTF8 returns a line in UTF-8. Its other bytes are read as Windows-1252, which older
// programs write.
func validUTF8(line string) string {
	if utf8.ValidString(line) {
		return line
	}
	var b strings.Builder
	for line != "" {
		r, size := utf8.DecodeRuneInString(line)
		if r == utf8.RuneError && size == 1 {
			r = charmap.Windows1252.DecodeByte(line[0])
		}
		b.WriteRune(r)
		line = line[size:]
	}
	return b.String()
}

// parseProperty reads a content line. It returns false if the line is malformed.
func parseProperty(text string) (property, bool) {
	end := strings.IndexAny(text, ";:")
	if end <= 0 {
		return property{}, false
	}
	p := property{name: strings.ToUpper(strings.TrimSpace(text[:end]))}
	if dot := strings.LastIndexByte(p.name, '.'); dot >= 0 {
		p.name = p.name[dot+1:] // the group of older calendars
	}
	rest := text[end:]
	for strings.HasPrefix(rest, ";") {
		name, value, after, ok := parseParameter(rest[1:])
		if !ok {
			return property{}, false
		}
		rest = after
		if p.parameters == nil {
			p.parameters = make(map[string]string)
		}
		if _, twice := p.parameters[name]; !twice && len(p.parameters) < maxParameters {
			p.parameters[name] = value
		}
	}
	value, ok := strings.CutPrefix(rest, ":")
	p.value = value
	return p, ok && p.name != ""
}

// parseParameter reads name=value[,value…] and returns the first value and
// what follows.
func parseParameter(text string) (name, value, rest string, ok bool) {
	equals := strings.IndexAny(text, "=;:")
	if equals <= 0 || text[equals] != '=' {
		return "", "", "", false
	}
	name, rest = strings.ToUpper(text[:equals]), text[equals+1:]
	for first := true; ; first = false {
		var one string
		if quoted, is := strings.CutPrefix(rest, `"`); is {
			if one, rest, ok = strings.Cut(quoted, `"`); !ok {
				return "", "", "", false
			}
		} else {
			end := strings.IndexAny(rest, ",;:")
			if end > 0 && strings.HasPrefix(rest[end:], "://") { // Outlook: TZID=tzone://Microsoft/Utc
				if more := strings.IndexAny(rest[end+1:], ",;:"); more >= 0 {
					end += 1 + more
				}
			}
			if end < 0 {
				return "", "", "", false
			}
			one, rest = rest[:end], rest[end:]
		}
		if first {
			value = one
		}
		if !strings.HasPrefix(rest, ",") {
			return name, value, rest, rest != ""
		}
		rest = rest[1:]
	}
}
