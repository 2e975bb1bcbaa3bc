package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"standin/client"
)

type apiCommand struct {
	serviceFlags
	Method string   `arg:"" help:"HTTP method, such as GET or POST."`
	Path   string   `arg:"" help:"API path, such as /api/v1/jobs or, in short, jobs."`
	Field  []string `short:"F" sep:"none" placeholder:"NAME=VALUE" help:"A field of the JSON body, or a parameter of a GET request. Values that are JSON, such as true or 5, keep their type."`
	Input  string   `placeholder:"FILE" help:"File with the body; - is standard input."`
}

// largestIndented bounds a response that is indented for people.
const largestIndented = 16 << 20

// Run sends the request, and prints the body of the response, on a terminal with indented JSON.
func (c *apiCommand) Run(ctx context.Context, to terminal) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	path := c.Path
	if !strings.HasPrefix(path, "/") {
		path = "/api/v1/" + path
	}
	method, query := strings.ToUpper(c.Method), url.Values{}
	var body io.Reader
	if c.Input == "-" {
		body = os.Stdin
	} else if c.Input != "" {
		content, err := os.ReadFile(c.Input)
		if err != nil {
			return fmt.Errorf("read the body: %w", err)
		}
		body = bytes.NewReader(content)
	}
	fields := make(map[string]any)
	for _, field := range c.Field {
		name, value, found := strings.Cut(field, "=")
		if !found {
			return fmt.Errorf("--field %q is not NAME=VALUE", field)
		}
		query.Set(name, value)
		if fields[name] = value; json.Valid([]byte(value)) {
			fields[name] = json.RawMessage(value)
		}
	}
	switch {
	case len(fields) == 0:
	case method == http.MethodGet || method == http.MethodHead:
		body = nil
	case c.Input != "":
		return errors.New("pass the body either by --field or by --input")
	default:
		content, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		body, query = bytes.NewReader(content), nil
	}
	target, err := url.Parse(strings.TrimRight(access.URL, "/") + path)
	if err != nil {
		return fmt.Errorf("%q is not a path of the API", c.Path)
	}
	if len(query) > 0 {
		target.RawQuery = strings.Trim(target.RawQuery+"&"+query.Encode(), "&")
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return fmt.Errorf("create the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+access.APIKey)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", client.ErrNotReached, err)
	}
	defer response.Body.Close()
	received := io.Reader(response.Body)
	if isTerminal(to.Out) && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		content, err := io.ReadAll(io.LimitReader(received, largestIndented))
		if err != nil {
			return fmt.Errorf("read the response: %w", err)
		}
		var indented bytes.Buffer
		if json.Indent(&indented, content, "", "  ") == nil {
			content = append(indented.Bytes(), '\n')
		}
		received = io.MultiReader(bytes.NewReader(content), received)
	}
	if _, err := io.Copy(to.Out, received); err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	if response.StatusCode < http.StatusBadRequest {
		return nil
	}
	code, _ := explainAPIError(&client.Error{Status: response.StatusCode}, "")
	return &hint{code: code, error: errors.New("the service responded with " + response.Status)}
}
