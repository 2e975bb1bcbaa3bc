package dialguard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"standin/internal/base/text"
)

// maxPublic is the maximum length of what Public returns, in characters.
const maxPublic = 300

// Public describes to a consumer why a request to a server failed. It leaves out the URL,
// whose query may contain secrets, and every address and name server, which would show the
// network of the service.
func Public(err error) string {
	var refused *RefusedError
	var unknown *net.DNSError
	var failed *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Address == "":
		return text.CleanLine(refused.Error(), maxPublic)
	case errors.As(err, &refused):
		return text.CleanLine(fmt.Sprintf("host %q is refused: it has a %s address; %s lists the networks that are allowed",
			refused.Host, refused.Kind, AllowSetting), maxPublic)
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return text.CleanLine(fmt.Sprintf("lookup %s: no such host", unknown.Name), maxPublic)
	case errors.As(err, &unknown):
		return text.CleanLine(fmt.Sprintf("lookup %s: the name server did not answer", unknown.Name), maxPublic)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "the certificate of the server is not valid"
	case errors.As(err, &failed):
		return text.CleanLine(failed.Op+": "+failed.Err.Error(), maxPublic)
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed without a response"
	}
	return text.CleanLine(strings.TrimPrefix(WithoutURL(err).Error(), "net/http: HTTP/1.x transport connection broken: "), maxPublic)
}

// AllowSetting is the setting that lists the networks which consumers may name.
const AllowSetting = "STANDIN_WEBHOOK_ALLOW_CIDRS"
