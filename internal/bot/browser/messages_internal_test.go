package browser

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestEndlessMessage copies messages of the browser. The first one over the limit ends
// the copy, however the others are divided into reads.
func TestEndlessMessage(t *testing.T) {
	t.Parallel()
	const short = "{\"id\":1}\x00"
	filler := func(length int) io.Reader { return io.LimitReader(endless{}, int64(length)) }
	tests := map[string]struct {
		input   io.Reader
		refused bool
	}{
		"short messages": {strings.NewReader(strings.Repeat(short, 10_000)), false},
		"many bytes in a row": {
			io.MultiReader(filler(maxMessage-1), strings.NewReader("\x00"), filler(maxMessage-1), strings.NewReader("\x00")), false,
		},
		"one byte over":         {io.MultiReader(strings.NewReader(short), filler(maxMessage+1), strings.NewReader("\x00")), true},
		"a message without end": {endless{}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := copyMessages(io.Discard, test.input)
			var limit *ResourceError
			if errors.As(err, &limit) != test.refused || !test.refused && !errors.Is(err, io.EOF) {
				t.Errorf("copying ended with %v", err)
			}
		})
	}
	var copied bytes.Buffer
	if err := copyMessages(&copied, strings.NewReader(short+short)); !errors.Is(err, io.EOF) || copied.String() != short+short {
		t.Errorf("copied %q, %v", copied.String(), err)
	}
}

// endless is a reader of letters without end.
type endless struct{}

var letters = strings.Repeat("x", 64<<10)

func (endless) Read(buffer []byte) (int, error) { return copy(buffer, letters), nil }
