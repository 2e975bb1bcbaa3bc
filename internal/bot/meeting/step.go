package meeting

// stepKind is the kind of the next action on the way in or out.
type stepKind int

const (
	stepWait   stepKind = iota
	stepPress           // the element
	stepClick           // the element, by script: a click with the mouse has no effect
	stepType            // the text into the element
	stepEnter           // the Enter key, in the field that was typed into
	stepReveal          // show what is hidden or covered
	stepDone
	stepFail // it cannot succeed
)

// step is the next action and its element.
type step struct {
	kind     stepKind
	element  string
	text     string // text to type
	evidence string // why joining cannot succeed, where no screen shows it
}
