package launch

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// ParseQuantity parses a quantity such as 500m or 3Gi. It refuses a unit without a
// number, which resource.ParseQuantity reads as 0.
func ParseQuantity(text string) (resource.Quantity, error) {
	quantity, err := resource.ParseQuantity(text)
	if err == nil && !strings.ContainsAny(text, "0123456789") {
		err = resource.ErrFormatWrong
	}
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("%q is not a quantity such as 500m or 3Gi: %w", text, err)
	}
	return quantity, nil
}
