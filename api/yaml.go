package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// yamlToJSON converts a YAML document to JSON and keeps the order of its keys.
// Values other than numbers, booleans and null become strings, including dates.
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
	return fmt.Errorf("line %d: unknown kind of node", node.Line)
}

// writeList writes a sequence, or a mapping, whose nodes are alternating keys and
// values.
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

func writeString(out *bytes.Buffer, value string) error {
	text, err := Encode(value)
	out.Write(text)
	return err
}
