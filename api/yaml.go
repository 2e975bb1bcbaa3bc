package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// yamlToJSON turns a YAML document into JSON and keeps the order of its keys,
// so that the description reads on the wire as it was written. Anything that
// is no number, boolean or null is a string, dates among them.
func yamlToJSON(text []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("parse YAML: %w", err)
	}
	var out bytes.Buffer
	if err := writeNode(&out, &root); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeNode(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.DocumentNode:
		return writeNode(out, node.Content[0])
	case yaml.AliasNode:
		return writeNode(out, node.Alias)
	case yaml.MappingNode:
		return writeList(out, node, '{', '}')
	case yaml.SequenceNode:
		return writeList(out, node, '[', ']')
	case yaml.ScalarNode:
		return writeScalar(out, node)
	}
	return fmt.Errorf("line %d: no such kind of node", node.Line)
}

// writeList writes a mapping, whose nodes are keys and values in turn, or a
// sequence.
func writeList(out *bytes.Buffer, node *yaml.Node, opening, closing byte) error {
	mapping := node.Kind == yaml.MappingNode
	out.WriteByte(opening)
	for i, child := range node.Content {
		switch {
		case mapping && i%2 == 1:
			out.WriteByte(':')
		case i > 0:
			out.WriteByte(',')
		}
		if mapping && i%2 == 0 {
			if err := writeString(out, child.Value); err != nil {
				return fmt.Errorf("line %d: %w", child.Line, err)
			}
			continue
		}
		if err := writeNode(out, child); err != nil {
			return err
		}
	}
	out.WriteByte(closing)
	return nil
}

func writeScalar(out *bytes.Buffer, node *yaml.Node) error {
	switch node.ShortTag() {
	case "!!null":
		out.WriteString("null")
		return nil
	case "!!bool", "!!int", "!!float":
		var value any
		if err := node.Decode(&value); err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		out.Write(text)
		return nil
	}
	return writeString(out, node.Value)
}

// writeString writes a JSON string as people would: with no escapes that only
// HTML needs.
func writeString(out *bytes.Buffer, value string) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the line break that Encode adds
	return nil
}
