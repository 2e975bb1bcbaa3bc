package job

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendJSON appends the JSON of the view to b. It is what encoding/json returns
// without HTML escaping, in half the time. The error is not nil only if the
// metadata are not JSON.
func (v View) AppendJSON(b []byte) ([]byte, error) {
	b = append(append(b, `{"id":"`...), v.ID.String()...)
	b = appendString(append(b, `","externalId":`...), v.ExternalID)
	b = appendString(append(b, `,"status":`...), string(v.Status))
	b = appendString(append(b, `,"meetingUrl":`...), v.MeetingURL)
	b = appendString(append(b, `,"platform":`...), string(v.Platform))
	b = appendTimestamp(append(b, `,"joinAt":`...), &v.JoinAt)
	b = strconv.AppendInt(append(b, `,"attempts":`...), int64(v.Attempts), 10)
	b = appendTimestamp(append(b, `,"createdAt":`...), &v.CreatedAt)
	b = appendTimestamp(append(b, `,"startedAt":`...), v.StartedAt)
	b = appendTimestamp(append(b, `,"finalizedAt":`...), v.FinalizedAt)
	b = appendNullString(append(b, `,"manifestUri":`...), v.ManifestURI)
	b = appendNullString(append(b, `,"failureCode":`...), v.FailureCode)
	b = appendNullString(append(b, `,"failureDetail":`...), v.FailureDetail)
	b, err := appendCompact(append(b, `,"metadata":`...), v.Metadata)
	b = v.AutoLeave.appendJSON(append(b, `,"autoLeave":`...))
	return append(b, '}'), err
}

func (a AutoLeave) appendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"afterEntryDelaySeconds":`...), int64(a.AfterEntryDelaySeconds), 10)
	b = strconv.AppendInt(append(b, `,"afterSilenceSeconds":`...), int64(a.AfterSilenceSeconds), 10)
	b = strconv.AppendInt(append(b, `,"afterSoloSeconds":`...), int64(a.AfterSoloSeconds), 10)
	b = strconv.AppendInt(append(b, `,"afterMaxSeconds":`...), int64(a.AfterMaxSeconds), 10)
	b = strconv.AppendBool(append(b, `,"onBotDetected":`...), a.OnBotDetected)
	return append(b, '}')
}

func appendTimestamp(b []byte, t *Timestamp) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	at := time.Time(*t).UTC()
	b = append(b, '"')
	b = at.AppendFormat(b, time.RFC3339) // faster than any other layout
	ms := at.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}

func appendNullString[T ~string](b []byte, s *T) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return appendString(b, string(*s))
}

// appendString appends a string. encoding/json encodes those that need escapes
// or are not ASCII.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	out := bytes.NewBuffer(b)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string is always encoded
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// appendCompact appends JSON without the white space between its tokens. A nil
// message is null.
func appendCompact(b []byte, message json.RawMessage) ([]byte, error) {
	if message == nil {
		return append(b, "null"...), nil
	}
	out := bytes.NewBuffer(b)
	err := json.Compact(out, message)
	return out.Bytes(), err
}
