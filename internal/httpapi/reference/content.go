package reference

import (
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"standin/api"
)

// content is the data of the template.
type content struct {
	Title   string
	Version string
	Summary string
	About   template.HTML
	Style   template.CSS
	Groups  []group
	Schemas []schema
}

// group is the operations of one tag.
type group struct {
	Name       string
	About      template.HTML
	Operations []operation
}

// operation is an operation or a webhook.
type operation struct {
	ID         string
	Method     string // empty for a webhook
	Path       string // or the event of the webhook
	Summary    string
	About      template.HTML
	Access     []access // alternatives
	Parameters []row
	Body       *body
	Answers    []answer
	Successes  []example
	Errors     []example
	Call       string // curl command
}

// body is a request body.
type body struct {
	About    template.HTML
	Type     []word
	Rows     []row
	Examples []example
}

// answer is a response of an operation.
type answer struct {
	Status   string
	Class    string // its first digit
	About    template.HTML
	Type     []word
	Headers  []row
	examples []example
}

// example is an example of a body.
type example struct {
	Status string // of a response
	Class  string // of a response
	Name   string
	Text   string
}

// everywhere is a header of every response, which the introduction describes.
const everywhere = "x-request-id"

// read converts the description to the data of the page.
func read(description *api.Description) (*content, error) {
	document, err := parse(description.JSON())
	if err != nil {
		return nil, err
	}
	manifest, err := parse(description.ManifestSchema())
	if err != nil {
		return nil, err
	}
	r := reader{document: document, manifest: manifest}
	info := r.document.at("info")
	page := &content{
		Title: info.at("title").text(), Version: info.at("version").text(), Summary: info.at("summary").text(),
		About: paragraphs(info.at("description").text()),
	}
	for _, tag := range r.document.at("tags").list() {
		page.Groups = append(page.Groups, group{
			Name: tag.at("name").text(), About: paragraphs(tag.at("description").text()),
		})
	}
	for _, part := range []string{"paths", "webhooks"} {
		for _, path := range r.document.at(part).all() {
			for _, method := range path.value.all() {
				if method.value.at("operationId") == nil {
					continue // parameters
				}
				err := r.add(page, path.name, method.name, part == "webhooks", path.value, method.value)
				if err != nil {
					return nil, fmt.Errorf("%s %s: %w", method.name, path.name, err)
				}
			}
		}
	}
	page.Schemas, err = r.schemas()
	return page, err
}

// add reads an operation into its group.
func (r reader) add(page *content, path, method string, webhook bool, item, of *value) error {
	one, err := r.operation(path, method, webhook, item, of)
	if err != nil {
		return err
	}
	tag := strings.Join(of.at("tags").texts(), " ")
	at := slices.IndexFunc(page.Groups, func(g group) bool { return g.Name == tag })
	if at < 0 {
		return fmt.Errorf("there is no tag %q", tag)
	}
	page.Groups[at].Operations = append(page.Groups[at].Operations, one)
	return nil
}

func (r reader) operation(path, method string, webhook bool, item, of *value) (one operation, err error) {
	one = operation{
		ID: of.at("operationId").text(), Path: path, Summary: of.at("summary").text(),
		About: paragraphs(of.at("description").text()),
	}
	if !webhook {
		one.Method = strings.ToUpper(method)
		for _, choice := range of.at("security").list() {
			for _, scheme := range choice.all() {
				known, ok := credentials[scheme.name]
				if !ok {
					return one, fmt.Errorf("no way to show the credentials %q", scheme.name)
				}
				one.Access = append(one.Access, known)
			}
		}
	}
	parameters := slices.Concat(item.at("parameters").list(), of.at("parameters").list())
	for _, parameter := range parameters {
		found, err := r.parameter(parameter)
		if err != nil {
			return one, err
		}
		one.Parameters = append(one.Parameters, found)
	}
	if given := of.at("requestBody"); given != nil {
		follow := 1 // requests are shown with their nested fields
		if webhook {
			follow = 0
		}
		if one.Body, err = r.body(given, follow); err != nil {
			return one, fmt.Errorf("the request's body: %w", err)
		}
	}
	for _, status := range of.at("responses").all() {
		found, err := r.answer(status.name, status.value)
		if err != nil {
			return one, fmt.Errorf("status %s: %w", status.name, err)
		}
		one.Answers = append(one.Answers, found)
		for _, e := range found.examples {
			e.Status, e.Class = found.Status, found.Class
			if e.Class == "2" {
				one.Successes = append(one.Successes, e)
			} else {
				one.Errors = append(one.Errors, e)
			}
		}
	}
	if !webhook {
		one.Call, err = r.call(one, parameters)
	}
	return one, err
}

func (r reader) parameter(of *value) (row, error) {
	of, err := of.resolve(r.document)
	if err != nil {
		return row{}, err
	}
	one := r.row(of.at("name").text(), of.at("schema"), 0)
	one.Where, one.Required, one.About = of.at("in").text(), of.at("required").isTrue(), inline(of.at("description").text())
	return one, nil
}

func (r reader) body(of *value, follow int) (*body, error) {
	one := &body{About: inline(of.at("description").text())}
	for _, content := range of.at("content").all() {
		var err error
		one.Type = r.contentType(content)
		if one.Rows, err = r.rows(content.value.at("schema"), 0, follow); err != nil {
			return nil, err
		}
		if one.Examples, err = r.examples(content.value); err != nil {
			return nil, err
		}
	}
	return one, nil
}

// contentType returns the name of the schema of a body, or its media type.
func (r reader) contentType(content field) []word {
	if content.name != "application/json" {
		return []word{{Text: content.name}}
	}
	if words := r.words(content.value.at("schema")); len(words) > 0 {
		return words
	}
	return []word{{Text: "JSON"}}
}

func (r reader) answer(status string, of *value) (answer, error) {
	of, err := of.resolve(r.document)
	if err != nil {
		return answer{}, err
	}
	one := answer{Status: status, Class: status[:1], About: inline(of.at("description").text())}
	for _, header := range of.at("headers").all() {
		if header.name == everywhere {
			continue
		}
		found, err := r.parameter(header.value)
		if err != nil {
			return one, err
		}
		found.Name = header.name
		one.Headers = append(one.Headers, found)
	}
	for i, content := range of.at("content").all() {
		if i > 0 {
			one.Type = append(one.Type, word{Text: " or "})
		}
		one.Type = append(one.Type, r.contentType(content)...)
		found, err := r.examples(content.value)
		if err != nil {
			return one, err
		}
		one.examples = append(one.examples, found...)
	}
	return one, nil
}

// examples lists the examples of a body.
func (r reader) examples(content *value) ([]example, error) {
	var list []example
	for _, f := range content.at("examples").all() {
		of, err := f.value.resolve(r.document)
		if err != nil {
			return nil, err
		}
		text, err := of.at("value").indented()
		if err != nil {
			return nil, err
		}
		list = append(list, example{Name: of.at("summary").text(), Text: text})
	}
	return list, nil
}

// access is a kind of credentials: its name, and its header if no parameter
// describes it.
type access struct {
	Name   string
	header string
}

// credentials has the security schemes of the description.
var credentials = map[string]access{
	"apiKey":           {"API key", "Authorization: Bearer $STANDIN_KEY"},
	"botToken":         {"bot token", "Authorization: Bearer $BOT_TOKEN"},
	"intakeSecret":     {"intake secret", "x-service-intake-secret: $INTAKE_SECRET"},
	"adminSecret":      {"operator's secret", "x-service-admin-secret: $ADMIN_SECRET"},
	"paymentSignature": {"payment signature", ""},
}

// call returns a curl command that calls an operation with the example values.
func (r reader) call(one operation, parameters []*value) (string, error) {
	path := one.Path
	var headers []string
	for _, access := range one.Access {
		if access.header != "" {
			headers = append(headers, access.header)
		}
	}
	for _, parameter := range parameters {
		parameter, err := parameter.resolve(r.document)
		if err != nil {
			return "", err
		}
		name, given := parameter.at("name").text(), parameter.at("example").plain()
		switch parameter.at("in").text() {
		case "path":
			path = strings.ReplaceAll(path, "{"+name+"}", given)
		case "header":
			if parameter.at("required").isTrue() {
				headers = append(headers, name+": "+given)
			}
		}
	}
	if strings.Contains(path, "{") {
		return "", errors.New("a parameter of the path has no example")
	}
	lines := []string{`curl ` + flag(one.Method) + `"$STANDIN_URL` + path + `"`}
	for _, header := range headers {
		lines = append(lines, `-H "`+header+`"`)
	}
	switch {
	case one.Body == nil:
	case len(one.Body.Examples) > 0:
		lines = append(lines, "-d '"+strings.ReplaceAll(one.Body.Examples[0].Text, "'", `'\''`)+"'")
	default:
		lines = append(lines, "--data-binary @file")
	}
	return strings.Join(lines, " \\\n  "), nil
}

// flag returns the curl flag of a method.
func flag(method string) string {
	switch method {
	case "GET":
		return ""
	case "HEAD":
		return "-I "
	}
	return "-X " + method + " "
}
