package job

// Platform is the kind of meeting that a bot joins.
type Platform string

// The platforms.
const (
	Meet    Platform = "meet"
	Teams   Platform = "teams"
	ZoomWeb Platform = "zoom-web"
	ZoomSDK Platform = "zoom-sdk"
)

// Platforms returns all platforms.
func Platforms() []Platform { return []Platform{Meet, Teams, ZoomWeb, ZoomSDK} }
