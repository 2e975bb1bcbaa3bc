package job

import "net/url"

// OutputOptions are the options of what a bot plays and shows in the meeting. A job without
// them has a bot that does neither.
type OutputOptions struct {
	OnJoin       *OutputOnJoin  `json:"onJoin,omitempty"`
	ReplayOnJoin bool           `json:"replayOnJoin,omitempty"` // also when the bot is back
	Camera       *CameraOptions `json:"camera,omitempty"`       // what the camera shows from the start
}

// OutputOnJoin is what a bot plays when it is admitted: an audio file or a text, with its
// voice and its language.
type OutputOnJoin struct {
	URI      string `json:"uri,omitempty"`
	Text     string `json:"text,omitempty"`
	Voice    string `json:"voice,omitempty"`
	Language string `json:"language,omitempty"` // BCP 47
}

// CameraOptions are one picture of a camera: an image, a page or a card with the bot's name.
type CameraOptions struct {
	Image    *OutputURI `json:"image,omitempty"`
	Page     *OutputURI `json:"page,omitempty"`
	NameCard bool       `json:"nameCard,omitempty"`
}

// OutputURI is the URI of a file or a page.
type OutputURI struct {
	URI string `json:"uri"`
}

// Check returns the path of the first option that cannot be used, and why; a nil path if
// there is none.
func (o OutputOptions) Check() (path []any, problem string) {
	const notWeb = "must be an http or https URL without credentials"
	if join := o.OnJoin; join != nil {
		switch {
		case (join.URI == "") == (join.Text == ""):
			return []any{"onJoin"}, "must have either uri or text"
		case join.URI != "" && !IsWebAddress(join.URI):
			return []any{"onJoin", "uri"}, notWeb
		}
	}
	if camera := o.Camera; camera != nil {
		switch image, page := camera.Image != nil, camera.Page != nil; {
		case image && page || image && camera.NameCard || page && camera.NameCard || !image && !page && !camera.NameCard:
			return []any{"camera"}, "must have exactly one of image, page and nameCard"
		case image && !IsWebAddress(camera.Image.URI):
			return []any{"camera", "image", "uri"}, notWeb
		case page && !IsWebAddress(camera.Page.URI):
			return []any{"camera", "page", "uri"}, notWeb
		}
	}
	return nil, ""
}

// IsWebAddress reports whether a text is an http or https URL without credentials.
func IsWebAddress(text string) bool {
	address, err := url.Parse(text)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Hostname() != "" && address.User == nil
}
