package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"standin/internal/base/text"
)

// Checked is a JSON body or a query after its check.
type Checked struct {
	Issues  []Issue  // in a stable order
	Ignored []string // the fields that the schema does not describe, such as autoLeave.more, sorted

	value any // prepared for Decode; nil for a body that is not JSON
}

// Field returns a top-level field of the body, nil without it.
func (c Checked) Field(name string) any {
	fields, _ := c.value.(map[string]any)
	return fields[name]
}

// Decode stores a body or a query without issues in the struct that into points to,
// as encoding/json does. Each field that the schema does not describe is left out,
// integers are written without a fraction or an exponent, and date-times as RFC
// 3339 requires.
func (c Checked) Decode(into any) error {
	encoded, err := text.EncodeJSON(c.value)
	if err != nil {
		return fmt.Errorf("encode a checked request: %w", err)
	}
	if err := json.Unmarshal(encoded, into); err != nil {
		return fmt.Errorf("decode a checked request: %w", err)
	}
	return nil
}

// CheckRequest parses a body and checks it against the request schema of an
// operation. It panics when the operation has no JSON body.
func (d *Description) CheckRequest(operationID string, body []byte) Checked {
	value, issues := Parse(body)
	if issues != nil {
		return Checked{Issues: issues}
	}
	return d.CheckValue(operationID, value)
}

// CheckValue checks a value of Parse against the request schema of an operation.
//
// It refuses control characters and lone surrogates in every text. From the free
// text of a bot, which repeats what a meeting page shows, it removes them, and it
// cuts the text to its maximum length.
func (d *Description) CheckValue(operationID string, value any) Checked {
	body, ok := d.bodies[operationID]
	if !ok {
		panic("api: no operation " + operationID + " with a JSON body")
	}
	return body.check(value)
}

// check checks a value of Parse.
func (b body) check(value any) Checked {
	p := preparation{fromBot: b.fromBot}
	prepared := p.prepare(b.schema, value)
	slices.Sort(p.ignored)
	var ofSchema []Issue
	err := b.schema.Validate(prepared)
	if failure, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		ofSchema = collect(nil, failure, prepared)
	} else if err != nil {
		ofSchema = unreadable("cannot be checked").Issues
	}
	issues := ofSchema
	for _, issue := range p.issues { // of texts: those of the schema come first where both concern the same field
		same := func(other Issue) bool { return slices.Equal(other.Path, issue.Path) }
		if !slices.ContainsFunc(ofSchema, same) {
			issues = append(issues, issue)
		}
	}
	slices.SortStableFunc(issues, compareIssues)
	return Checked{Issues: issues, Ignored: p.ignored, value: prepared}
}

// Bounds of every body.
const (
	maxDepth  = 256 // levels of nested arrays and objects
	maxDigits = 400 // characters of a number, and the size of its exponent
)

// Parse parses a JSON body. Objects become map[string]any, in which the last of
// equal keys wins, and numbers become json.Number. A lone surrogate becomes a NUL,
// which no text may contain. An invalid body has one issue with the code
// invalid_json.
func Parse(body []byte) (any, []Issue) {
	if problem := textProblem(body); problem != "" {
		return nil, unreadable(problem).Issues
	}
	decoder := json.NewDecoder(bytes.NewReader(text.MarkLoneSurrogates(body)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, unreadable(syntaxMessage(err)).Issues
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, unreadable(trailingText).Issues
	}
	if message := checkValue(value, 0); message != "" {
		return nil, unreadable(message).Issues
	}
	return value, nil
}

// CleanTexts removes control characters from the texts of a JSON document of any form
// that a bot wrote, and cuts long texts.
func CleanTexts(document []byte) ([]byte, error) {
	value, issues := Parse(document)
	if len(issues) > 0 {
		return nil, errors.New(issues[0].Message)
	}
	p := preparation{fromBot: true}
	return text.EncodeJSON(p.prepare(nil, value))
}

// CheckTexts checks the texts of a JSON document of any form.
func CheckTexts(document []byte) []Issue {
	value, issues := Parse(document)
	if len(issues) > 0 {
		return issues
	}
	var p preparation
	p.prepare(nil, value)
	return p.issues
}

// syntaxMessage describes a syntax error and its position.
func syntaxMessage(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("the body is not valid JSON: byte %d", syntax.Offset)
	}
	return "the body is not valid JSON: it ends too early"
}

// checkValue returns a message when a value exceeds the bounds, else "".
func checkValue(value any, depth int) string {
	if depth > maxDepth {
		return fmt.Sprintf("the body is more than %d levels deep", maxDepth)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			if message := checkValue(inner, depth+1); message != "" {
				return message
			}
		}
	case []any:
		for _, inner := range value {
			if message := checkValue(inner, depth+1); message != "" {
				return message
			}
		}
	case json.Number:
		return checkNumber(string(value))
	}
	return ""
}

// checkNumber refuses numbers beyond the range of a float64 (RFC 8259, section 6),
// and short literals that are expensive to compute with, such as 1e999999.
func checkNumber(literal string) string {
	const message = "a number is too long or too large"
	if len(literal) > maxDigits {
		return message
	}
	if e := strings.IndexAny(literal, "eE"); e >= 0 {
		exponent, err := strconv.Atoi(literal[e+1:])
		if err != nil || exponent > maxDigits || exponent < -maxDigits {
			return message
		}
	}
	if float, err := strconv.ParseFloat(literal, 64); err != nil || math.IsInf(float, 0) {
		return message
	}
	return ""
}
