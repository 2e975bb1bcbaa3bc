package meeting

// stepKind is the kind of the next action on the way in or out.
type stepKind int

const (
	stepWait   stepKind = iota
	stepPress           // the element
	stepType            // the text into the element
	stepEnter           // the Enter key, in the field that was typed into
	stepReveal          // what is hidden or covered
	stepDone
	stepFail // it cannot succeed
)

// step is the next action and its element.
type step struct {
	kind     stepKind
	element  string
	text     string // to type
	evidence string // why joining cannot succeed, where no screen shows it
}
