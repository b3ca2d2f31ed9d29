package output

import (
	"bytes"
	"encoding/json"
	"strconv"

	"go.yaml.in/yaml/v3"
)

const indent = "  "

// writeValue writes one value.
func writeValue(b *bytes.Buffer, f Format, value any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if f == JSON {
		enc.SetIndent("", indent)

		return enc.Encode(value)
	}
	var text bytes.Buffer
	enc = json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	node, err := yamlOf(text.Bytes())
	if err != nil {
		return err
	}
	out := yaml.NewEncoder(b)
	out.SetIndent(len(indent))

	return out.Encode(node)
}

// writeLines writes each value on a line.
func writeLines[T any](b *bytes.Buffer, values []T) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}

	return nil
}

// yamlOf turns JSON into YAML with the same fields in the same order. JSON is nearly
// YAML, but not where it escapes characters; so it is not left to a parser of YAML.
func yamlOf(text []byte) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}

	return yamlValue(dec, token)
}

func yamlValue(dec *json.Decoder, token json.Token) (*yaml.Node, error) {
	scalar := func(tag, text string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}, nil
	}
	switch v := token.(type) {
	case json.Delim:
		return yamlCollection(dec, v)
	case string:
		n := &yaml.Node{}
		n.SetString(v)

		return n, nil
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return scalar("!!int", v.String())
		}

		return scalar("!!float", v.String())
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	default:
		return scalar("!!null", "null")
	}
}

func yamlCollection(dec *json.Decoder, open json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if open == '[' {
		n.Kind = yaml.SequenceNode
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		child, err := yamlValue(dec, token)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err := dec.Token() // the end

	return n, err
}
