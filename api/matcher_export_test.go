package api

import "slices"

// Compare returns whether the matcher of an operation's body accepts a value, and
// whether the schema does.
func (d *Description) Compare(operationID string, value any) (matches, valid bool) {
	schema := d.requests[operationID]
	return schema.matcher.matches(value), schema.Validate(value) == nil
}

// Bodies returns the operations that have a JSON body, sorted.
func (d *Description) Bodies() (operationIDs []string) {
	for id := range d.requests {
		operationIDs = append(operationIDs, id)
	}
	slices.Sort(operationIDs)
	return operationIDs
}
