package dispatch

import (
	"cmp"
	"net/netip"
	"net/url"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// assignment is what the current attempt's bot is started with.
func (t *task) assignment(consumer account.Consumer) launch.Assignment {
	settings, r := t.d.Settings, t.job
	options := r.Resolved()
	options.Recording = options.Recording.Or(consumer.Recording)
	options.Output = cmp.Or(options.Output, consumer.Output)
	assigned := launch.Assignment{
		JobID:             r.ID,
		Attempt:           r.Attempt,
		Token:             ingest.Token(settings.SigningKey, r.ID.String(), r.Attempt),
		ServiceURL:        settings.ServiceURL,
		MeetingURL:        r.MeetingURL,
		Platform:          r.Platform,
		DisplayName:       r.DisplayName,
		JoinAt:            r.JoinAt,
		AutoLeave:         r.AutoLeave,
		Mode:              r.Mode,
		Metadata:          r.Metadata,
		Options:           options,
		AllowedHosts:      settings.AllowedMeetingHosts,
		OwnHosts:          settings.OwnHosts,
		LoopbackPeers:     settings.LoopbackMeetings && onLoopback(r.MeetingURL),
		SignIn:            cmp.Or(options.SignIn, consumer.SignIn, job.SignInIfRequired),
		RequirePermission: settings.RequireRecordingConsent || options.Consent.Required != nil && *options.Consent.Required,
	}
	if s := t.stream; s != nil {
		assigned.LoopbackPeers = settings.LoopbackMeetings && onLoopback(s.ServerURLs)
		assigned.ZoomStream = &launch.ZoomStream{
			ClientID: s.ClientID, MeetingUUID: s.MeetingUUID, StreamID: s.ID, Signature: s.Signature, ServerURLs: s.ServerURLs,
		}
	}
	return assigned
}

// onLoopback reports whether a meeting is on this machine: a replica.
func onLoopback(meeting string) bool {
	u, err := url.Parse(meeting)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
