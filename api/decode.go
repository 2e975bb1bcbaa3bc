package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Decode stores a value that passed its schema in the struct that into points
// to. The value is from Parse, or from CheckQuery.
//
// Unlike encoding/json, Decode matches field names exactly and accepts 60.0 and
// 6e1 for integers. An absent field keeps its value. null sets a field to its
// zero value, and a pointer to a new zero value: a nil pointer means absent.
func Decode(value, into any) error {
	return decode(value, reflect.ValueOf(into).Elem())
}

func decode(value any, into reflect.Value) error {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	text, _ := value.(string)
	switch target := into.Addr().Interface().(type) {
	case *json.RawMessage:
		encoded, err := Encode(value)
		*target = encoded
		return err
	case *time.Time:
		if value == nil {
			return nil
		}
		parsed, err := ParseDateTime(text)
		*target = parsed
		return err
	case encoding.TextUnmarshaler:
		if value == nil {
			return nil
		}
		return target.UnmarshalText([]byte(text))
	}
	switch value := value.(type) {
	case map[string]any:
		return decodeFields(value, into)
	case []any:
		into.Set(reflect.MakeSlice(into.Type(), len(value), len(value)))
		for i, item := range value {
			if err := decode(item, into.Index(i)); err != nil {
				return err
			}
		}
	case string:
		into.SetString(value)
	case bool:
		into.SetBool(value)
	case json.Number:
		return decodeNumber(value, into)
	}
	return nil
}

func decodeFields(fields map[string]any, into reflect.Value) error {
	for i, name := range fieldNames(into.Type()) {
		if name == embedded {
			if err := decodeFields(fields, into.Field(i)); err != nil {
				return err
			}
			continue
		}
		value, ok := fields[name]
		if !ok {
			continue
		}
		if err := decode(value, into.Field(i)); err != nil {
			return fmt.Errorf("decode %s: %w", name, err)
		}
	}
	return nil
}

// embedded is the name of an embedded struct.
const embedded = ""

// namesByType has the results of fieldNames. Without it, parsing the tags takes a
// quarter of the time of decodeFields.
var namesByType sync.Map

// fieldNames returns the JSON name of each field of a struct.
func fieldNames(of reflect.Type) []string {
	if names, found := namesByType.Load(of); found {
		return names.([]string)
	}
	names := make([]string, of.NumField())
	for i := range names {
		if field := of.Field(i); !field.Anonymous {
			names[i], _, _ = strings.Cut(field.Tag.Get("json"), ",")
		}
	}
	namesByType.Store(of, names)
	return names
}

// decodeNumber stores a number. Its schema keeps an integer within int64, and
// Parse keeps any number within float64.
func decodeNumber(number json.Number, into reflect.Value) error {
	if into.CanFloat() {
		value, err := number.Float64()
		into.SetFloat(value)
		return err
	}
	exact, ok := new(big.Rat).SetString(string(number))
	if !ok {
		return fmt.Errorf("%q is not a number", number)
	}
	into.SetInt(exact.Num().Int64())
	return nil
}

// Encode returns a value as JSON without the escapes that only HTML needs.
func Encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
