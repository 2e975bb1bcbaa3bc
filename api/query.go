package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// queryParameter is a query parameter of an operation.
type queryParameter struct {
	name    string
	numeric bool // its schema accepts numbers
	instant bool // its schema accepts date-times
	list    bool // it may be repeated; its schema is that of the items
	pairs   bool // its items are key=value; see readPairs
	schema  *jsonschema.Schema
}

// CheckQuery checks the query parameters of an operation against their schemas.
// Numbers become json.Number, pairs maps, other repeatable parameters lists, and other
// values strings.
func (d *Description) CheckQuery(operationID string, query url.Values) Checked {
	values := map[string]any{}
	checked := Checked{value: values}
	known := map[string]bool{}
	for _, parameter := range d.queries[operationID] {
		if parameter.pairs {
			values[parameter.name] = parameter.readPairs(query, known, &checked)
			continue
		}
		known[parameter.name] = true
		given := query[parameter.name]
		switch {
		case len(given) == 0:
		case parameter.list:
			items := []any{}
			for _, text := range given {
				for item := range strings.SplitSeq(text, ",") {
					items = append(items, parameter.check(item, &checked))
				}
			}
			values[parameter.name] = items
		case len(given) > 1:
			checked.Issues = append(checked.Issues, Issue{Path: []any{parameter.name}, Message: givenOnce, Code: "maxItems"})
		default:
			values[parameter.name] = parameter.check(parameter.read(given[0]), &checked)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !known[name] {
			checked.Ignored = append(checked.Ignored, name)
		}
	}
	return checked
}

// givenOnce is the message about a value that is given several times.
const givenOnce = "must be given once"

// maxPairs is the number of pairs in a query.
const maxPairs = 10

// readPairs returns the pairs of a parameter, which are given as name=key=value,
// name.key=value or name[key]=value. It adds the names that it reads to known.
func (p queryParameter) readPairs(query url.Values, known map[string]bool, checked *Checked) map[string]string {
	pairs := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		named, ok := p.pairKey(name)
		if !ok {
			continue
		}
		known[name] = true
		for _, text := range query[name] {
			key, value, pair := named, text, named+"="+text
			if name == p.name {
				key, value, _ = strings.Cut(text, "=")
				pair = text
			}
			issues := body{schema: p.schema}.check(pair).Issues
			if _, again := pairs[key]; again {
				issues = append(issues, Issue{Message: givenOnce, Code: "maxItems"})
			}
			pairs[key] = value
			for _, issue := range issues {
				issue.Path = []any{name}
				checked.Issues = append(checked.Issues, issue)
			}
		}
	}
	if len(pairs) > maxPairs {
		checked.Issues = append(checked.Issues, Issue{
			Path: []any{p.name}, Message: fmt.Sprintf("must have at most %d pairs", maxPairs), Code: "maxItems",
		})
	}
	return pairs
}

// pairKey returns the key in the name of a parameter of a query, if it is a name of
// these pairs.
func (p queryParameter) pairKey(name string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(name, p.name)
	if !ok || rest == "" {
		return "", ok
	}
	if key, dotted := strings.CutPrefix(rest, "."); dotted {
		return key, true
	}
	key, ok = strings.CutPrefix(rest, "[")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(key, "]")
}

// check returns a value of the parameter, prepared for Checked.Decode, and adds its
// issues.
func (p queryParameter) check(value any, checked *Checked) any {
	result := body{schema: p.schema}.check(value)
	for _, issue := range result.Issues {
		issue.Path = []any{p.name}
		checked.Issues = append(checked.Issues, issue)
	}
	return result.value
}

// numberForm is a number of JSON (RFC 8259, section 6).
var numberForm = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

// read converts a text to the type of the parameter's schema, if it has its form.
func (p queryParameter) read(text string) any {
	switch {
	case p.numeric && numberForm.MatchString(text) && checkNumber(text) == "":
		return json.Number(text)
	case p.instant:
		// A plus sign in a query is decoded as a space, which no date-time contains.
		return strings.ReplaceAll(text, " ", "+")
	}
	return text
}
