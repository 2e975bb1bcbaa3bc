package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
)

const collectionFile = "standin.postman_collection.json"

// collection is a collection of Postman, version 2.1, which Bruno and Insomnia import
// too.
type collection struct {
	Info struct {
		Name        string `json:"name"`
		Schema      string `json:"schema"`
		Description string `json:"description"`
	} `json:"info"`
	Auth     collectionAuth       `json:"auth"`
	Variable []collectionVariable `json:"variable"`
	Item     []collectionFolder   `json:"item"`
}

type collectionAuth struct {
	Type   string               `json:"type"`
	Bearer []collectionVariable `json:"bearer"`
}

type collectionVariable struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Type  string `json:"type,omitempty"`
}

type collectionFolder struct {
	Name string           `json:"name"`
	Item []collectionItem `json:"item"`
}

type collectionItem struct {
	Name    string            `json:"name"`
	Request collectionRequest `json:"request"`
}

type collectionRequest struct {
	Method      string               `json:"method"`
	Description string               `json:"description,omitempty"`
	Header      []collectionVariable `json:"header"`
	URL         collectionURL        `json:"url"`
	Body        *collectionBody      `json:"body,omitempty"`
}

type collectionURL struct {
	Raw      string               `json:"raw"`
	Host     []string             `json:"host"`
	Path     []string             `json:"path"`
	Query    []collectionVariable `json:"query,omitempty"`
	Variable []collectionVariable `json:"variable,omitempty"`
}

type collectionBody struct {
	Mode    string          `json:"mode"`
	Raw     string          `json:"raw"`
	Options json.RawMessage `json:"options"`
}

// TestCollection: the collection has every operation with an API key.
func TestCollection(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(exportCollection(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(collectionFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(collectionFile); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not the one of openapi.yaml (%v); run make collection", collectionFile, err)
	}
}

// exportCollection makes the collection from the description. The body of a request is
// its first example, and required query parameters theirs.
func exportCollection(t *testing.T) collection {
	t.Helper()
	d, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Info struct{ Title, Summary string }
		Tags []struct{ Name string }

		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(d.JSON(), &document); err != nil {
		t.Fatal(err)
	}
	out := collection{
		Auth: collectionAuth{Type: "bearer", Bearer: []collectionVariable{{"token", "{{apiKey}}", "string"}}},
		Variable: []collectionVariable{
			{"baseUrl", "http://127.0.0.1:8080", ""}, {"apiKey", "", ""}, {"jobId", "", ""},
		},
	}
	out.Info.Name, out.Info.Description = document.Info.Title, document.Info.Summary
	out.Info.Schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
	folders := map[string][]collectionItem{}
	for _, operation := range d.Operations() {
		if operation.Security != "apiKey" {
			continue
		}
		var described struct {
			Summary, Description string
			Tags                 []string
			Parameters           []struct {
				Name, In string
				Required bool
				Example  any
			}
			RequestBody struct {
				Content map[string]struct {
					Examples json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(document.Paths[operation.Path][strings.ToLower(operation.Method)], &described); err != nil {
			t.Fatal(err)
		}
		item := collectionItem{described.Summary, collectionRequest{
			Method: operation.Method, Description: strings.TrimSpace(described.Description), Header: []collectionVariable{},
			URL: exportURL(operation.Path),
		}}
		required := url.Values{}
		for _, parameter := range described.Parameters {
			if parameter.In == "query" && parameter.Required {
				example := fmt.Sprint(parameter.Example)
				required.Set(parameter.Name, example)
				item.Request.URL.Query = append(item.Request.URL.Query, collectionVariable{parameter.Name, example, ""})
			}
		}
		if len(required) > 0 {
			item.Request.URL.Raw += "?" + required.Encode()
		}
		if content, ok := described.RequestBody.Content[jsonType]; ok {
			item.Request.Header = append(item.Request.Header, collectionVariable{"Content-Type", jsonType, ""})
			item.Request.Body = &collectionBody{"raw", firstExample(t, content.Examples), json.RawMessage(`{"raw": {"language": "json"}}`)}
		}
		folders[described.Tags[0]] = append(folders[described.Tags[0]], item)
	}
	for _, tag := range document.Tags {
		if items := folders[tag.Name]; len(items) > 0 {
			out.Item = append(out.Item, collectionFolder{tag.Name, items})
		}
	}
	return out
}

// exportURL converts the template of a path: {id} is the variable jobId of the
// collection, and every other parameter a variable of the request.
func exportURL(path string) collectionURL {
	url := collectionURL{Host: []string{"{{baseUrl}}"}}
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			segment = ":" + name
			value := ""
			if name == "id" {
				value = "{{jobId}}"
			}
			url.Variable = append(url.Variable, collectionVariable{name, value, ""})
		}
		url.Path = append(url.Path, segment)
	}
	url.Raw = "{{baseUrl}}/" + strings.Join(url.Path, "/")
	return url
}

// firstExample returns the value of the first of some examples, indented.
func firstExample(t *testing.T, examples json.RawMessage) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(examples))
	var example struct{ Value json.RawMessage }
	for range 2 { // the brace and the name
		if _, err := decoder.Token(); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := decoder.Decode(&example); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&out, example.Value, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
